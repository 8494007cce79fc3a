// Linear probing, as every textbook has it, on persistent memory: an array of slots, with tombstones or with backward
// shift. One thread. README.md has the algorithm in a page.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_LINEAR_TABLE_H_
#define POWERCUT_TARGETS_LINEAR_TABLE_H_

#include <cstdint>
#include <cstring>

#include "targets/common/hash.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::linear {

// `published` has the first three; `bug=` plants one of all into `hardened`.
enum class Bug : uint8_t {
  kNone,
  kInsertOneFlush,      // insert: item and state become durable by one flush of both
  kUpdateInPlace,       // update: a value of several words is overwritten without a log
  kShiftFreesFirst,     // erase: the slot is free before the items behind it have moved up
  kShiftClearsFirst,    // erase: an item that moves up leaves its old slot before it is in the new one
  kShiftNotRecovered,   // open leaves the second copy of an item that was moving up
  kTombstoneForgotten,  // erase: the slot is free, and the items behind it stay
  kEraseNotFlushed,     // erase: the state is not flushed
  kLogUnordered,        // update: the log is valid before it holds the value
  kLogNotReplayed,      // open ignores the log
  kExpandPublishEarly,  // expand: the root names the new slots before they are durable
  kCount
};

struct Options : SchemeOptions {
  bool auto_expand;
  bool shifts;  // erase moves the items behind the slot up; else it leaves a tombstone
  uint64_t slots;
  Bug bug;
};

constexpr uint32_t kMostKey = 256, kMostValue = 256;

struct alignas(pmem::kLine) Root {
  uint64_t magic;
  uint64_t array;     // block: a line with the number of slots, then the slots
  uint64_t log_slot;  // 1 + the slot that the log is for; 0: the log holds nothing
  alignas(pmem::kLine) uint8_t log_value[kMostValue];
};
static_assert(sizeof(Root) == pmem::kLine + kMostValue);

// The first word of a slot; key and value follow, each from a multiple of 8 bytes on.
enum State : uint64_t { kFree = 0, kFull = 1, kErased = 2 };

class Table {
 public:
  POWERCUT_SCHEME_TABLE(linear::Options);         // items.cc
  powercut_status Maintain(const char* command);  // expand.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: 0 is the root, then every slot.
  uint64_t regions() const { return 1 + slots(); }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const { return offset == root()->array; }

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) const {
    for (uint64_t i = 0, at = Home(key); i < slots() && StateOf(at) != kFree; ++i, at = Next(at)) {
      if (Holds(at, key) && visit(KeyOf(at), ValueOf(at))) return;
    }
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    if (region != 0 && StateOf(region - 1) == kFull) visit(KeyOf(region - 1), ValueOf(region - 1));
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}) {}

  bool Has(Bug bug) const {
    return options_.bug == bug || (!options_.hardened && bug != Bug::kNone && bug <= Bug::kShiftFreesFirst);
  }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  static uint64_t Padded(uint64_t size) { return (size + 7) / 8 * 8; }
  uint64_t stride() const { return sizeof(State) + Padded(options_.key_size) + Padded(options_.value_size); }
  uint64_t ArrayBytes(uint64_t slots) const { return pmem::kLine + slots * stride(); }

  // Slots, by their numbers, of the array that the root names.
  uint64_t slots() const { return *reinterpret_cast<uint64_t*>(pool_.base + root()->array); }
  uint8_t* At(uint64_t slot) const { return pool_.base + root()->array + pmem::kLine + slot * stride(); }
  uint64_t* StateAt(uint64_t slot) const { return reinterpret_cast<uint64_t*>(At(slot)); }
  uint64_t StateOf(uint64_t slot) const { return *StateAt(slot); }
  uint8_t* KeyOf(uint64_t slot) const { return At(slot) + sizeof(State); }
  uint8_t* ValueOf(uint64_t slot) const { return KeyOf(slot) + Padded(options_.key_size); }
  uint64_t Next(uint64_t slot) const { return slot + 1 == slots() ? 0 : slot + 1; }
  uint64_t Distance(uint64_t from, uint64_t to) const { return to >= from ? to - from : to + slots() - from; }
  uint64_t Home(const uint8_t* key) const { return HashKey(key, options_.key_size) % slots(); }
  bool Holds(uint64_t slot, const uint8_t* key) const {
    return StateOf(slot) == kFull && std::memcmp(KeyOf(slot), key, options_.key_size) == 0;
  }

  // Stores one word, durably.
  static void SetWord(uint64_t* word, uint64_t value) {
    pmem::atomic_store(word, value);
    pmem::persist(word, sizeof *word);
  }
  void SetState(uint64_t slot, State state) { SetWord(StateAt(slot), state); }

  // items.cc
  uint64_t Find(const uint8_t* key) const;
  uint64_t FindPlace(const uint8_t* key) const;
  void Write(uint64_t slot, const uint8_t* key, const uint8_t* value);
  void ReplayLog();
  void Close(uint64_t hole);

  powercut_status Expand();  // expand.cc
  void Recover();            // recover.cc

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  uint64_t used_ = 0;  // slots that are not free; counted by open
};

}  // namespace powercut::linear
#endif  // POWERCUT_TARGETS_LINEAR_TABLE_H_
