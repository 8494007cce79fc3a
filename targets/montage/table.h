// A hash map whose operations are buffered: payloads in the pool, tagged with the epoch that wrote them, and an index
// in the handle. README.md has the protocol and its paper.
#ifndef POWERCUT_TARGETS_MONTAGE_TABLE_H_
#define POWERCUT_TARGETS_MONTAGE_TABLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "powercut/pmem.h"
#include "targets/common/scheme_table.h"
#include "targets/common/spin_guard.h"
#include "targets/montage/options.h"

namespace powercut::montage {

inline constexpr uint64_t kMagic = 0x544e4f4d5f504350;

struct alignas(pmem::kLine) Root {
  uint64_t magic, sizes;
  alignas(pmem::kLine) uint64_t clock;  // the epoch that operations belong to
};

enum class Kind : uint64_t { kItem = 1, kErased = 2 };  // erased: it covers older payloads of its key

// The beginning of a block of whole lines; key and value follow. The newest payload of a key tells. The lines of a
// payload may become durable in any order: `epoch` counts only once the whole payload is written back.
struct Payload {
  uint64_t epoch;  // 0: free. Stored last
  Kind kind;
  ItemHeader item;  // erased: the value has no bytes

  uint64_t bytes() const { return sizeof epoch + sizeof kind + item.bytes(); }
};

class Table {
 public:
  static constexpr ItemSizes kSizes = {.most_key = 1024, .most_value = 65536};
  // Open() discards the payloads of the last two epochs, and makes the index. Twice is once. NOT_FORMATTED, CORRUPT.
  POWERCUT_MIXED_SCHEME_TABLE(montage::Options);  // table.cc; Verify: recover.cc
  // "advance": the payloads of the epoch before the present epoch become durable, and survive from now on. "sync" is
  // two advances: all operations that have ended survive.
  powercut_status Maintain(const char* command);
  void Draw(Drawing* to) const;  // draw.cc

  uint64_t regions() const { return 1; }
  template <typename Visit>
  void Walk(uint64_t, Visit visit) const {
    ForEachItem([&](const Payload& payload) { return visit(payload.item.key(), payload.item.value()); });
  }
  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) const {
    ForEachItem([&](const Payload& payload) {
      return payload.item.key() == key && visit(payload.item.key(), payload.item.value());
    });
  }

  // A block is a payload that the index names, so none can be lost.
  struct Blocks {
    const Table& table;
    template <typename Visit>
    bool ForEach(Visit visit) const {
      table.ForEachItem([&](const Payload& payload) {
        visit(table.OffsetOf(payload), table.stride_);
        return false;
      });
      return true;
    }
  };
  Blocks allocator() const { return {*this}; }
  bool Reaches(uint64_t offset) const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint32_t kBuckets = 8;
  static constexpr uint64_t kFirstEpoch = 3;
  // The number of epochs that are told apart. Operations are in the present epoch or in the epoch before, whose
  // payloads are written back.
  static constexpr uint64_t kEpochs = 4;

  Table(powercut_pool pool, const Options& options);

  // An operation holds its bucket, and belongs to the epoch that it began in.
  class Operation {
   public:
    Operation(Table* table, Bytes key);
    ~Operation();
    const uint64_t bucket;
    uint64_t epoch = 0;

   private:
    Table* table_;
    SpinGuard guard_;
  };

  bool Has(Bug bug) const { return options_.bug == bug; }
  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  Payload* At(uint32_t block) const { return reinterpret_cast<Payload*>(pool_.base + sizeof(Root) + block * stride_); }
  uint64_t OffsetOf(const Payload& payload) const {
    return static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(&payload) - pool_.base);
  }
  // The items, until `visit` returns true.
  template <typename Visit>
  void ForEachItem(Visit visit) const {
    for (const uint32_t head : heads_) {
      for (uint32_t at = head; at != kNone; at = next_[at]) {
        if (At(at)->kind == Kind::kItem && visit(*At(at))) return;
      }
    }
  }
  static uint64_t BucketOf(Bytes key);
  uint64_t JoinEpoch();
  void LeaveEpoch(uint64_t epoch);
  // The payload of the key, of whatever kind; kNone.
  uint32_t Find(uint64_t bucket, Bytes key) const;
  // A key that is `from` becomes `to`; of any other EXISTS or NOT_FOUND.
  powercut_status Change(Kind from, Kind to, Bytes key, Bytes value);
  // In place if the operation's epoch has written `old`, the key's payload or kNone. FULL changes nothing.
  powercut_status Cover(const Operation& operation, uint32_t old, Kind from, Kind to, Bytes key, Bytes value);
  void Write(Payload* payload, uint64_t epoch, Kind kind, Bytes key, Bytes value);
  void FlushPayload(const Payload* payload) const;
  void Link(uint64_t bucket, uint32_t block);
  void Unlink(uint64_t bucket, uint32_t block);
  // Counts the items as they will be, and takes a free block unless `block` is null. False: there is no room.
  bool Reserve(Kind from, Kind to, uint32_t* block);
  // Makes the blocks free, durably, and hands them out again.
  void Drop(const std::vector<uint32_t>& blocks);
  void Advance();
  void MoveClock(uint64_t epoch);
  void Recover();
  void Count();

  // The changes of one epoch, until the epoch is written back.
  struct Log {
    std::vector<uint32_t> written, covered, erased;  // blocks
  };

  const powercut_pool pool_;
  const Options options_;
  const uint64_t stride_;  // bytes of a block: a payload of the longest key and the longest value, in whole lines
  uint32_t blocks_;
  std::array<uint32_t, kBuckets> heads_;
  std::array<uint8_t, kBuckets> locks_{};
  std::vector<uint32_t> next_, free_;
  std::array<Log, kEpochs> logs_;
  std::array<uint64_t, kEpochs> active_{};  // operations under way
  uint8_t logs_lock_ = 0, advance_lock_ = 0;
  uint64_t items_ = 0, changes_ = 0;
};

}  // namespace powercut::montage
#endif  // POWERCUT_TARGETS_MONTAGE_TABLE_H_
