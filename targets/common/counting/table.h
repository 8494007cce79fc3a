// A counting hash table on a block device: MB, MDB, MDB-L and the table without a buffer. README.md has the paper, the
// layout and why `hardened` is safe.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_TABLE_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_TABLE_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "powercut/target.h"
#include "targets/common/counting/buffer.h"
#include "targets/common/counting/device.h"
#include "targets/common/counting/image.h"
#include "targets/common/counting/options.h"
#include "targets/common/counting/page.h"
#include "targets/common/hash.h"

namespace powercut {
class Drawing;
}

namespace powercut::counting {

// Where everything lies, in pages.
struct Geometry {
  explicit Geometry(const Options& options);

  uint32_t block_entries;
  uint32_t places;     // physical blocks of the data segment: one is spare in `hardened`
  uint32_t logs;       // of the change segment: change blocks of MDB, one of MDB-L
  uint32_t log_pages;  // of each
  uint32_t log_slots;  // slots that one serves
  uint32_t overflow_pages;
  uint64_t data, change, overflow, end;  // the first page of each
  static constexpr uint64_t kRoot = 0, kJournal = 1;
};

// Where a key belongs: its data block, which is its slot of the RAM buffer, and where its probing begins there.
struct Position {
  uint32_t slot;
  uint32_t index;
};

// h(x) = x mod entries, s(x) = h(x) div entries of a block (2, equation 3).
inline Position PositionIn(uint32_t blocks, uint32_t block_entries, uint64_t key) {
  const uint64_t h = HashKey(reinterpret_cast<const uint8_t*>(&key), sizeof key) % (uint64_t{blocks} * block_entries);
  return {static_cast<uint32_t>(h / block_entries), static_cast<uint32_t>(h % block_entries)};
}

class Table {
 public:
  using Options = counting::Options;
  static powercut_status ParseOptions(const powercut_config& config, Options* out);  // options.cc
  static void Traits(const Options& options, powercut_traits* out);                  // options.cc
  static powercut_status Format(powercut_pool pool, const Options& options);         // recover.cc
  // Opens the table. If pages have one sector, Open writes nothing. Otherwise Open erases torn pages, and for a table
  // without a buffer writes the page that the journal holds. Errors: NOT_FORMATTED, CORRUPT.
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);  // recover.cc
  const Options& options() const { return options_; }
  const Device::Counts& counts() const { return device_.counts(); }
  void CountReads() { device_.CountReads(); }

  // operations.cc
  powercut_status Increment(const uint8_t* key, int64_t delta);
  powercut_status Erase(const uint8_t* key);
  powercut_status Lookup(const uint8_t* key, uint8_t* value);
  // "stage": the RAM buffer is in the change segment. "merge": the change segment, and of MB the RAM buffer, is in the
  // data segment. "sync": what has ended is durable.
  powercut_status Maintain(const char* command);

  uint64_t regions() const { return options_.blocks; }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    Visited(PartsOf(static_cast<uint32_t>(region)), visit);
  }
  template <typename Visit>
  void ForEachCopy(const uint8_t* bytes, Visit visit) {
    const uint64_t key = KeyOf(bytes);
    std::vector<Part> parts = PartsOf(PositionOf(key).slot);
    std::erase_if(parts, [&](const Part& part) { return part.key != key; });
    Visited(parts, visit);
  }
  powercut_status Verify(uint64_t region, char* message, size_t size);  // verify.cc
  void Draw(Drawing* to);                                               // draw.cc

  // A block is a page of the overflow region that a chain has.
  struct Blocks {
    const Table& table;
    template <typename Visit>
    bool ForEach(Visit visit) const {
      for (uint32_t page = 0; page < table.geometry_.overflow_pages; ++page) {
        if (table.overflow_used_[page] != 0) visit(table.OffsetOfOverflow(page), Device::kPlaceSize);
      }
      return true;
    }
  };
  Blocks allocator() const { return {*this}; }
  bool Reaches(uint64_t offset) const;  // verify.cc

 private:
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  // A change page of MDB-L that holds changes of a slot, or a run of them (2.4: "pointers to identify the ranges").
  struct Range {
    uint32_t first, last;
  };
  // A part of the change segment that is filled from its top, and merged when it is full.
  struct Log {
    uint64_t first;        // its first page on the device
    uint32_t slot, slots;  // that it serves
    uint32_t used = 0;     // pages, with the one that is being filled
    // The last page while the page has room; otherwise empty. `hardened` begins a new page with each stage.
    std::vector<uint8_t> open;
    // Changes of the RAM buffer, from the front of these slots, that `open` has and the device has not.
    std::vector<std::pair<uint32_t, uint32_t>> taken;
  };
  struct Staged {
    Change change;
    uint64_t page;  // on the device
    uint32_t index;
  };
  // A part of the sum of a key, and where it lies.
  struct Part {
    uint64_t key;
    int64_t count;
    bool covered;   // erased since: it does not count
    uint64_t page;  // on the device; kInBuffer
    uint32_t index;
  };
  static constexpr uint64_t kInBuffer = ~uint64_t{0};
  // The place where probing ended in the data segment.
  struct Spot {
    bool found;
    int64_t count;
    uint64_t page;  // of the entry, or of a place for it; kNoPage
    uint32_t index;
    uint64_t end;  // the last page of the chain, or of the block where it has none
  };
  static constexpr uint64_t kNoPage = ~uint64_t{0};

  Table(powercut_pool pool, const Options& options);

  bool Has(Bug bug) const { return options_.bug == bug; }
  bool buffered() const { return kMember.scheme != Scheme::kUnbuffered; }
  static uint64_t KeyOf(const uint8_t* bytes) {
    uint64_t key;
    std::memcpy(&key, bytes, sizeof key);
    return key;
  }
  Position PositionOf(uint64_t key) const { return PositionIn(options_.blocks, geometry_.block_entries, key); }
  uint64_t BlockAt(uint32_t place) const { return geometry_.data + uint64_t{place} * options_.pages; }
  uint64_t OffsetOfOverflow(uint32_t page) const;  // verify.cc
  Page In(std::vector<uint8_t>& bytes, uint32_t page = 0) const {
    return {bytes.data() + uint64_t{page} * options_.page, options_.page};
  }
  PageView View(const uint8_t* bytes) const { return {bytes, options_.page}; }
  // Returns whether a page that was read is of this kind. `published` takes any page; a page of zeroes is an empty
  // page.
  bool IsGood(const PageView& page, Kind kind) const;
  // Sealed in `hardened`.
  void Finish(const Page& page) const {
    if (options_.hardened) page.Seal();
  }

  // data.cc: the data segment.
  // The block of a slot, with its chain. False: damaged.
  bool Load(uint32_t slot, Image* image);
  bool LoadHome(uint32_t place, Image* image, PageHeader* first);
  bool LoadChain(const PageHeader& first, Image* image);
  uint32_t FreePlace() const;
  powercut_status FindInData(uint64_t key, Spot* spot);
  powercut_status Rewrite(uint32_t slot, std::span<const Change> changes, uint64_t merged);
  bool TakeOverflow(size_t count, std::vector<uint32_t>* pages);
  void WriteChain(const Image& image, uint32_t slot, uint64_t generation);
  void WriteHome(const Image& image, uint32_t slot, uint32_t place, uint64_t generation, uint64_t merged);
  uint32_t ChainPages(size_t entries) const {
    return static_cast<uint32_t>((entries + options_.entries - 1) / options_.entries);
  }

  // change.cc: stages and merges.
  Log& LogOf(uint32_t slot) { return logs_[slot / geometry_.log_slots]; }
  powercut_status Stage();
  powercut_status StageInto(Log* log);
  // Adds a change to the page that is being filled, or begins one: there is room. A full page is written.
  void Append(Log* log, uint32_t slot, const Change& change, bool from_buffer);
  void FinishPage(Log* log);
  powercut_status MergeBuffer();
  powercut_status MergeLog(Log* log);
  powercut_status MergeLogs();
  // Empties the full RAM buffer.
  powercut_status Empty();
  // The changes of a slot in the change segment that its data block lacks, in their order.
  bool ReadStaged(uint32_t slot, std::vector<Staged>* out);
  void AddStaged(const PageView& page, uint64_t number, uint32_t slot, std::vector<Staged>* out) const;
  void AddToRange(uint32_t slot, uint32_t page);

  // unbuffered.cc
  powercut_status WriteAtOnce(uint64_t key, const Spot& spot, int64_t count);
  powercut_status AddToChain(uint64_t key, const Spot& spot, int64_t count);
  bool WriteForced(uint64_t number, const Page& page);

  // operations.cc
  powercut_status SumOf(uint64_t key, int64_t* sum);

  class Sketch;  // draw.cc

  // verify.cc
  std::vector<Part> PartsOf(uint32_t slot);
  template <typename Visit>
  static void Visited(const std::vector<Part>& parts, Visit visit) {
    for (const Part& part : parts) {
      if (part.covered || part.count == 0) continue;
      if (visit(reinterpret_cast<const uint8_t*>(&part.key), reinterpret_cast<const uint8_t*>(&part.count))) return;
    }
  }

  // recover.cc
  powercut_status Recover();
  powercut_status FindNewestBlocks();
  powercut_status FindChains();
  powercut_status FindChanges();
  void WipeTorn(uint64_t number, const PageView& page, Kind kind);
  bool RedoJournal();  // unbuffered.cc

  const powercut_pool pool_;
  const Options options_;
  const Geometry geometry_;
  Device device_;
  Buffer buffer_;
  std::vector<uint32_t> place_;   // of each data block; kNowhere: nothing was ever written
  std::vector<uint64_t> merged_;  // of each data block
  std::vector<uint8_t> overflow_used_;
  std::vector<uint32_t> chain_pages_;  // of each data block
  std::vector<Log> logs_;
  std::vector<std::vector<Range>> ranges_;  // of each slot
  bool wiped_ = false;                      // open has erased pages
  uint64_t next_generation_ = 1, next_sequence_ = 1;
  std::vector<uint8_t> page_, block_;  // what is written next
};

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_TABLE_H_
