// Recovery of a table of many threads. As in 3.3, recovery reads the persistent buffers and the blocks that they name.
// Recovery also reads the buckets that were being rehashed, since nothing else names an item that was being moved.
#include "targets/clevel/table.h"

namespace powercut::clevel {

void Table::ReleaseLines() {
  if (MarksSlots()) SettleBuckets();
  for (uint32_t id = 0; id < kAllThreads; ++id) {
    ThreadLines& theirs = lines(id);
    uint64_t named = 0;
    const auto release = [&](uint64_t offset) {
      named |= offset;
      if (offset == 0 || allocator_.BytesOf(offset) == 0) return;
      if (MarksSlots() && HoldsItem(offset)) SettleSlots(offset);
      // A thread that was cut between freeing a block and forgetting it may name a block that now belongs to another
      // thread: an item, a level or a context.
      if (offset == OffsetIn(root()->context) || ReachesLevel(offset) || ReachesItem(offset)) return;
      pmem::mark("recover.released");
      allocator_.Free(offset);
    };
    const Buffer& words = theirs.buffer;
    for (const uint64_t offset :
         {words.item, words.level, words.context, words.old_item, words.old_level, words.old_context}) {
      release(offset);
    }
    for (const uint64_t offset : theirs.retired) release(offset);
    if (named == 0) continue;
    pmem::mark("recover.buffer");
    theirs.buffer = {};
    std::memset(theirs.retired, 0, sizeof theirs.retired);
    pmem::persist(&theirs, sizeof theirs.buffer + sizeof theirs.retired);
  }
}

void Table::SettleBuckets() {
  const View& view = worker_.view;
  if (!view.is_resizing) return;
  for (uint32_t number = 0; number < strides(); ++number) {
    if (IsDone(number, view.last())) continue;
    const uint64_t index = number + RehashedOf(number, view.last()) * strides();
    const uint64_t* bucket = view.last().slots + index * options_.slots;
    for (uint32_t s = 0; s < options_.slots; ++s) {
      const uint64_t word = pmem::atomic_load(&bucket[s]);
      if (IsLive(word)) SettleSlots(OffsetIn(word));
    }
  }
}

// No operation is under way any more: a movement that was forwarded is finished, and what was tentative, refused,
// evicted or erased is taken out of its slot. Cut anywhere, it is done again.
void Table::SettleSlots(uint64_t item) {
  const Bytes key = KeyOf(item);
  const Probe probe(key);
  bool is_forwarded = false;
  const auto for_each_slot = [&](auto visit) {
    ForEachWord(worker_.view, key, probe, [&](const Place& place) {
      if (OffsetIn(place.word) == item) visit(place);
      return false;
    });
  };
  for_each_slot([&](const Place& place) { is_forwarded = is_forwarded || (place.word & kForwarded) != 0; });
  const auto store = [&](uint64_t* slot, uint64_t word) {
    pmem::mark("recover.settled");
    pmem::atomic_store(slot, word);
    PersistSlot(slot);
  };
  for_each_slot([&](const Place& place) {
    if (IsLive(place.word)) return;
    store(place.slot, is_forwarded && (place.word & kTentative) != 0 ? place.word & ~kMarkMask : 0);
  });
  for_each_slot([&](const Place& place) {
    if ((place.word & kForwarded) != 0) store(place.slot, 0);
  });
}

}  // namespace powercut::clevel
