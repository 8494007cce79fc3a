// A data block in memory, with its chain of overflow pages: what a merge works on (2.5, 2.6).
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_IMAGE_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_IMAGE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "targets/common/counting/page.h"

namespace powercut::counting {

struct Cell {
  Tag tag = Tag::kEmpty;
  Entry entry{};
};

class Image {
 public:
  explicit Image(uint32_t entries) : home(entries) {}

  std::vector<Cell> home;       // its last one is a pointer where there is a chain
  std::vector<Cell> chain;      // entries of the overflow pages, in their order
  std::vector<uint32_t> pages;  // of the overflow region, that hold the chain now

  bool has_chain() const { return home.back().tag == Tag::kPointer; }

  // Null where the block has none. `at` is where the key's probing begins.
  Cell* Find(uint32_t at, uint64_t key) {
    for (; at < home.size() && home[at].tag != Tag::kPointer; ++at) {
      if (home[at].tag == Tag::kEmpty) return nullptr;
      if (home[at].entry.key == key) return &home[at];
    }
    for (Cell& cell : chain) {
      if (cell.entry.key == key) return &cell;
    }
    return nullptr;
  }

  // "The last index of the last page of an SSD block becomes a pointer assigned to the overflow region. The entry that
  // was resident at this position now resides in the conflict region alongside the newly inserted entry" (2.5).
  void Insert(uint32_t at, const Entry& entry) {
    const Cell cell{Tag::kCount, entry};
    for (; at < home.size() && home[at].tag != Tag::kPointer; ++at) {
      if (home[at].tag != Tag::kEmpty) continue;
      home[at] = cell;
      return;
    }
    if (!has_chain()) {
      chain.push_back(home.back());
      home.back() = {Tag::kPointer, {}};
    }
    chain.push_back(cell);
  }

  // "The entries are hashed inside a main memory block, but the deleted items are ignored during this process" (2.6).
  template <typename HomeOf>
  void Rehash(HomeOf home_of) {
    std::vector<Cell> all = std::exchange(chain, {});
    all.insert(all.begin(), home.begin(), home.end());
    home.assign(home.size(), Cell{});
    for (const Cell& cell : all) {
      if (cell.tag == Tag::kCount && cell.entry.count != 0) Insert(home_of(cell.entry.key), cell.entry);
    }
  }
};

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_IMAGE_H_
