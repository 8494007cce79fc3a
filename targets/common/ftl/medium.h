// The medium below a flash translation layer. A medium offers
//   static constexpr bool kContents;                    does it keep what is programmed?
//   const Geometry& geometry() const;
//   Reading Read(uint64_t page, void* data, Spare* spare);   data may be null
//   bool Program(uint64_t page, const void* data, Spare spare);
//   bool Erase(uint32_t block);
//   uint64_t Erases(uint32_t block) const;              for tests and verify; no real device tells
#ifndef POWERCUT_TARGETS_COMMON_FTL_MEDIUM_H_
#define POWERCUT_TARGETS_COMMON_FTL_MEDIUM_H_

#include <cstdint>
#include <vector>

#include "powercut/pmem.h"

namespace powercut::ftl {

constexpr uint32_t kNone = ~uint32_t{0};

struct Geometry {
  uint32_t blocks, pages_per_block, page_size;

  uint64_t pages() const { return uint64_t{blocks} * pages_per_block; }
};

enum class Kind : uint32_t { kNone, kData, kTrimmed, kFiller, kSnapshot, kNote, kMapping };

// The spare area of a page, which describes the page and is programmed with it.
struct Spare {
  uint32_t checksum = 0;  // of the page and of the rest; the medium's
  Kind kind = Kind::kNone;
  uint64_t sequence = 0;  // of the page, of its block (block-mapped), or the generation of the journal
  uint32_t place = 0;     // the logical page; of a snapshot its number in it; of a note the block
  uint32_t erases = 0;    // of the block that the page lies in
  uint32_t count = 0;     // of a note: erases that the block will have had; of data: 1 if the host wrote it
  uint32_t unused = 0;
};
static_assert(sizeof(Spare) == 32);

// Names a place of a protocol for scenarios, where there is something to judge.
template <typename Medium>
void Mark(const char* name) {
  if constexpr (Medium::kContents) pmem::mark(name);
}

enum class Reading : uint8_t { kOk, kErased, kUnreadable };

// Flash that keeps spare areas and counts, and no pages: for workloads of 10^8 pages, of which figures want the counts.
class CountingNand {
 public:
  static constexpr bool kContents = false;

  explicit CountingNand(const Geometry& geometry)
      : geometry_(geometry), spares_(geometry.pages()), filled_(geometry.blocks, 0), erases_(geometry.blocks, 0) {}

  const Geometry& geometry() const { return geometry_; }
  Reading Read(uint64_t page, void*, Spare* spare) const {
    const uint64_t block = page / geometry_.pages_per_block;
    if (page % geometry_.pages_per_block >= filled_[block]) return Reading::kErased;
    *spare = spares_[page];
    return Reading::kOk;
  }
  // False where a real device would refuse: the page is not the next one of its block.
  bool Program(uint64_t page, const void*, const Spare& spare) {
    const uint64_t block = page / geometry_.pages_per_block;
    if (page % geometry_.pages_per_block != filled_[block]) return false;
    ++filled_[block];
    spares_[page] = spare;
    return true;
  }
  bool Erase(uint32_t block) {
    filled_[block] = 0;
    ++erases_[block];
    return true;
  }
  uint64_t Erases(uint32_t block) const { return erases_[block]; }

 private:
  Geometry geometry_;
  std::vector<Spare> spares_;
  std::vector<uint32_t> filled_, erases_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_MEDIUM_H_
