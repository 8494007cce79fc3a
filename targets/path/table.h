// Path hashing (Zuo, Hua: "A Write-Friendly Hashing Scheme for Non-Volatile Memory Systems", MSST 2017), persistent by
// the protocols of Level hashing (OSDI 2018, 3.3), one thread. README.md maps functions to sections of the papers.
//
// The cells are an inverted complete binary tree: 2^n leaves, above each two a cell that both share, and so on. A key
// belongs to the cells of the two paths that lead from its two leaves to the root. Only the lowest levels are there
// (path shortening). They are one array: level i begins at cell 2^(n+1) - 2^(n+1-i).
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_PATH_TABLE_H_
#define POWERCUT_TARGETS_PATH_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "targets/common/scheme_table.h"
#include "targets/common/token_table.h"
#include "targets/path/options.h"

namespace powercut::path {

struct Tree {
  uint8_t* cells = nullptr;
  uint32_t leaves_log2 = 0;
  uint32_t levels = 0;
  bool packed = false;

  // Returns the index of the first cell of a level; the leaves are level 0. Level `levels` is the end.
  uint64_t Begin(uint32_t level) const {
    const uint64_t all = uint64_t{2} << leaves_log2;
    return all - (all >> level);
  }
  uint64_t count() const { return Begin(levels); }

  // Returns the index of the cell at `position` of a level. Packed, levels 2i and 2i + 1 share one part of the array,
  // three cells a subtree: two siblings, then the cell above the siblings. A last level without a level above is not
  // packed.
  uint64_t Index(uint32_t level, uint64_t position) const {
    if (!packed || (level % 2 == 0 && level + 1 == levels)) return Begin(level) + position;
    if (level % 2 == 0) return Begin(level) + position / 2 * 3 + position % 2;
    return Begin(level - 1) + position * 3 + 2;
  }
};

class Table : public TokenTable {
 public:
  POWERCUT_SCHEME_TABLE(path::Options);  // cells.cc
  powercut_status Maintain(const char* command);

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    ForEachOf(key, [&](uint8_t* cell) {
      const uint8_t* item = bucket_.Slot(cell, 0);
      return visit(item, item + options_.key_size);
    });
  }
  // Regions: 0 is the root, then the cells of each tree, a few at a time (verify.cc).
  uint64_t regions() const {
    uint64_t count = 1 + Regions(tree_);
    for (const Tree& older : older_) count += Regions(older);
    return count;
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    if (region == 0) return;
    const CellRange range = RangeOf(region);
    for (uint64_t index = range.begin; index < range.end; ++index) {
      uint8_t* cell = Cell(*range.tree, index);
      const uint8_t* item = bucket_.Slot(cell, 0);
      if (IsUsed(cell) && visit(item, item + options_.key_size)) return;
    }
  }
  bool Reaches(uint64_t offset) const {
    return offset == OffsetOf(tree_.cells) || std::any_of(older_.begin(), older_.end(), [&](const Tree& older) {
             return offset == OffsetOf(older.cells);
           });
  }
  void Draw(Drawing* to) const;  // draw.cc

  const Tree& tree() const { return tree_; }

 private:
  static constexpr uint64_t kUnit = 256;
  static constexpr uint32_t kLogs = 32;  // a tree has fewer than 2^kLogs leaves
  static constexpr uint64_t kRegionCells = 4;

  Table(powercut_pool pool, const Options& options)
      : TokenTable(pool, TokenBucket(options.key_size, options.value_size, 1), options.defects(), kUnit,
                   options.resize),
        options_(options) {}

  bool Has(Bug bug) const { return options_.bug == bug; }
  uint64_t GeometryWord() const;

  // The cells of a region.
  struct CellRange {
    const Tree* tree;
    uint64_t begin, end;
  };
  static uint64_t Regions(const Tree& tree) { return (tree.count() + kRegionCells - 1) / kRegionCells; }
  // Precondition: 0 < region < regions().
  CellRange RangeOf(uint64_t region) const {
    const auto cells_of = [](const Tree* tree, uint64_t part) {
      return CellRange{tree, part * kRegionCells, std::min((part + 1) * kRegionCells, tree->count())};
    };
    --region;
    if (region < Regions(tree_)) return cells_of(&tree_, region);
    region -= Regions(tree_);
    const Tree* tree = older_.begin();
    for (; region >= Regions(*tree); ++tree) region -= Regions(*tree);
    return cells_of(tree, region);
  }

  Tree Shape(uint32_t leaves_log2) const {
    return {.cells = nullptr,
            .leaves_log2 = leaves_log2,
            .levels = std::min<uint32_t>(options_.levels, leaves_log2 + 1),
            .packed = options_.packed};
  }
  uint64_t Bytes(const Tree& tree) const { return tree.count() * bucket_.stride(); }
  uint8_t* Cell(const Tree& tree, uint64_t index) const { return tree.cells + index * bucket_.stride(); }
  bool IsUsed(const uint8_t* cell) const { return bucket_.LoadTokens(cell) != 0; }
  uint64_t Leaf(const Tree& tree, const uint8_t* key, uint32_t path) const;

  // The key's cells, from the leaves up, first path first; stops at the cell where visit returns true, and returns it.
  template <typename Visit>
  uint8_t* ForEachCell(const Tree& tree, const uint8_t* key, Visit visit) const {
    const uint64_t leaf[2] = {Leaf(tree, key, 0), Leaf(tree, key, 1)};
    for (uint32_t level = 0; level < tree.levels; ++level) {
      for (uint32_t path = 0; path < 2; ++path) {
        if (path == 1 && leaf[0] >> level == leaf[1] >> level) break;  // where the paths have met
        uint8_t* cell = Cell(tree, tree.Index(level, leaf[path] >> level));
        if (visit(cell)) return cell;
      }
    }
    return nullptr;
  }
  // visit(cell) for every copy of the key, until it returns true: the first tree first. Returns that cell.
  template <typename Visit>
  uint8_t* ForEachOf(const uint8_t* key, Visit visit) const {
    const auto matching = [&](uint8_t* cell) {
      return IsUsed(cell) && bucket_.KeyEquals(bucket_.Slot(cell, 0), key) && visit(cell);
    };
    uint8_t* found = ForEachCell(tree_, key, matching);
    for (const Tree* older = older_.begin(); found == nullptr && older != older_.end(); ++older) {
      found = ForEachCell(*older, key, matching);
    }
    return found;
  }
  uint8_t* FindFree(const Tree& tree, const uint8_t* key) const {
    return ForEachCell(tree, key, [&](const uint8_t* cell) { return !IsUsed(cell); });
  }
  bool IsLeaf(const uint8_t* key, const uint8_t* cell) const {
    return cell == Cell(tree_, tree_.Index(0, Leaf(tree_, key, 0))) ||
           cell == Cell(tree_, tree_.Index(0, Leaf(tree_, key, 1)));
  }
  uint8_t* Find(const uint8_t* key) const;

  // resize.cc
  powercut_status Expand();
  powercut_status Shrink();
  Built Build(uint32_t leaves_log2, Tree* next);
  void Replace(const Tree& next);
  bool Introduce(uint32_t leaves_log2);
  powercut_status FinishRehash(bool recovering);
  bool RehashItems(bool recovering);
  bool RehashItem(uint8_t* cell, bool look_for_copy);

  powercut_status Attach();  // recover.cc

  void DrawTree(const Tree& tree, const std::string& age, Drawing* to) const;  // draw.cc

  powercut_status VerifyRoot(char* message, size_t size);

  Options options_;
  Tree tree_;                // the first tree, which takes the items
  OlderTables<Tree> older_;  // resize=rehash
};

}  // namespace powercut::path
#endif  // POWERCUT_TARGETS_PATH_TABLE_H_
