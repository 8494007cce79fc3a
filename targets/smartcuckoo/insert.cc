// Insertion: Algorithms 1 to 4. The forest says before any kick-out where the item goes, or that it goes nowhere.
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {
namespace {

void Mark(Case which) {
  switch (which) {
    case Case::kTwoNewVertices:
      return pmem::mark("insert.v2");
    case Case::kOneNewVertex:
      return pmem::mark("insert.v1");
    case Case::kOneNonMaximal:
      return pmem::mark("insert.v0.one_non_maximal");
    case Case::kTwoNonMaximal:
      return pmem::mark("insert.v0.two_non_maximal");
    case Case::kMixed:
      return pmem::mark("insert.v0.mixed");
    case Case::kTwoMaximal:
      return pmem::mark("insert.v0.two_maximal");
    case Case::kOneMaximal:
      return pmem::mark("insert.v0.one_maximal");
  }
}

}  // namespace

// With forest=on_demand a vacant bucket may be no vertex yet although an item has it as its backup: the case is v+1
// instead of v+0, and the item goes into the vacancy in both.
Forecast Table::Predetermine(const Positions& at) {
  Learn(at.first);
  Learn(at.second);
  return forest_.Predetermine(at.first, at.second);
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  const Item item = MakeItem(key, value);
  const Positions at = PositionsOf(key);
  const Forecast forecast = Predetermine(at);
  Mark(forecast.which);
  if (forecast.fails()) {
    if (PlaceInStash(item)) return POWERCUT_OK;
    return options_.auto_expand ? Rehash(directory_.log2 + 1, &item) : POWERCUT_FULL;
  }
  const uint32_t backup = at.Other(forecast.start);
  forest_.Link(forecast.start, backup);
  if (options_.hardened && !Has(Bug::kMoveForward)) {
    VacateByMoves(forecast.start);
    Fill(forecast.start, item.bytes);
    forest_.SetBackup(forecast.start, backup);
  } else {
    PlaceByKickOuts(forecast.start, item, backup);
  }
  return POWERCUT_OK;
}

// "SmartCuckoo is implemented based on CHS" (4), cuckoo hashing with a stash: "the items that introduce hash collisions
// are moved into the stash" (1). The forecast says which items these are. An item of the stash is no edge.
bool Table::PlaceInStash(const Item& item) {
  for (uint32_t b = directory_.buckets(); b < Places(directory_); ++b) {
    if (geometry_.Occupied(Bucket(b))) continue;
    pmem::mark("insert.stash");
    Fill(b, item.bytes);
    return true;
  }
  return false;
}

// The paper's order, each step durable: evict, write, carry the victim to its backup position. A victim that has been
// evicted and not yet written is in a register only.
void Table::PlaceByKickOuts(uint32_t start, const Item& item, uint32_t backup) {
  Item carried = item;
  for (uint32_t b = start;;) {
    const uint32_t next = forest_.Backup(b);
    Item victim;
    if (next != Forest::kNone) {
      std::memcpy(victim.bytes, Bucket(b), geometry_.token_at);
      Clear(b);
      pmem::mark("kick");
    }
    Fill(b, carried.bytes);
    forest_.SetBackup(b, backup);
    if (next == Forest::kNone) return;
    carried = victim;
    backup = b;
    b = next;
  }
}

// Level hashing, 3.3: evictions begin with the last item of the cuckoo path and work backward. Each kick-out copies its
// item into a vacant bucket before it clears the old bucket. A cut thus leaves every item, and one item twice.
void Table::VacateByMoves(uint32_t start) {
  const auto [path, length] = forest_.PathFrom(start);
  for (uint32_t i = length - 1; i-- > 0;) {
    const uint32_t from = path[i], to = path[i + 1];
    const bool clear_first = Has(Bug::kMoveClearFirst);
    clear_first ? Clear(from) : Fill(to, Bucket(from));
    pmem::mark("kick");
    clear_first ? Fill(to, Bucket(from)) : Clear(from);
    forest_.SetBackup(to, from);
  }
}

}  // namespace powercut::smartcuckoo
