// The search for a cuckoo path: a random walk, or breadth first. Nothing is written.
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

bool Table::FindPath(const SlotArray* array, const Probe& probe, Path* path) const {
  if (options_.search == Search::kBreadthFirst) return BreadthFirst(array, probe, path);
  // The walk must be the same in every run: its random numbers follow from the key.
  uint64_t random = probe.hash[0] ^ probe.hash[1];
  uint32_t steps = 0;
  // With one slot a bucket, the walk begins in the first table (conventional cuckoo hashing).
  const int first = geometry_.bucket.slots == 1 ? 0 : static_cast<int>(random & 1);
  const uint64_t start = Home(*array, probe, first), other = Home(*array, probe, 1 - first);
  return WalkFrom(array, start, &random, &steps, path) ||
         (other != start && WalkFrom(array, other, &random, &steps, path));
}

// Evicts one item after the other in thought. A slot is on the path at most once: a walk that comes back to its own
// start could not be carried out backwards.
bool Table::WalkFrom(const SlotArray* array, uint64_t index, uint64_t* random, uint32_t* steps, Path* path) const {
  const uint32_t slots = geometry_.bucket.slots;
  path->length = 0;
  while (*steps < options_.limit) {
    *random = Mix(*random + 0x9e3779b97f4a7c15);
    const uint32_t taken = path->SlotsOf(index);
    Place victim{array, index, 0};
    uint64_t next = index;
    for (uint32_t i = 0; i < slots && next == index; ++i) {
      victim.slot = static_cast<uint32_t>((*random + i) % slots);
      if ((taken >> victim.slot & 1) == 0) next = Alternative(victim);
    }
    if (next == index) return false;  // no item of this bucket can leave it
    ++*steps;
    path->Add(index, victim.slot);
    Place place{array, next, 0};
    if (FindFree(&place)) {
      path->Add(next, place.slot);
      return true;
    }
    index = next;
  }
  return false;
}

// Buckets in the order of their distance from the key's two; each once, so that no path meets itself.
bool Table::BreadthFirst(const SlotArray* array, const Probe& probe, Path* path) const {
  struct Node {
    uint32_t index;
    uint16_t parent;  // in `queue`
    uint8_t slot;     // of the parent's bucket: its item leads here
    uint8_t depth;
  };
  Node queue[kMostSteps + 2];
  uint32_t count = 0;
  const auto seen = [&](uint64_t index) {
    for (uint32_t i = 0; i < count; ++i) {
      if (queue[i].index == index) return true;
    }
    return false;
  };
  for (int which = 0; which < 2; ++which) {
    const uint64_t home = Home(*array, probe, which);
    if (!seen(home)) queue[count++] = {static_cast<uint32_t>(home), 0, 0, 0};
  }
  for (uint32_t head = 0; head < count; ++head) {
    for (uint32_t slot = 0; slot < geometry_.bucket.slots; ++slot) {
      const uint64_t next = Alternative({array, queue[head].index, slot});
      if (seen(next)) continue;
      Place place{array, next, 0};
      if (FindFree(&place)) {
        path->length = queue[head].depth + 2u;
        path->step[path->length - 1] = {static_cast<uint32_t>(next), place.slot};
        path->step[path->length - 2] = {queue[head].index, slot};
        for (uint32_t at = head; queue[at].depth > 0; at = queue[at].parent) {
          path->step[queue[at].depth - 1u] = {queue[queue[at].parent].index, queue[at].slot};
        }
        return true;
      }
      if (count >= options_.limit || queue[head].depth + 1u >= kMostDepth) continue;
      queue[count++] = {static_cast<uint32_t>(next), static_cast<uint16_t>(head), static_cast<uint8_t>(slot),
                        static_cast<uint8_t>(queue[head].depth + 1)};
    }
  }
  return false;
}

}  // namespace powercut::cuckoo
