// Twice the heads. A node lies on one chain only, so it cannot be in the old table and in the new one: the nodes are
// copied. Nothing reaches the copies before the root names the new heads, by one store.
#include <cstring>

#include "targets/chained/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::chained {

powercut_status Table::Maintain(const char*) { return Expand(); }

powercut_status Table::Expand() {
  const uint64_t old = root()->heads, bytes = HeadBytes(2 * buckets());
  const uint64_t heads = allocator_.Allocate(bytes);
  if (heads == 0) return POWERCUT_FULL;
  std::memset(WordAt(heads), 0, bytes);
  *WordAt(heads) = 2 * buckets();
  if (Has(Bug::kExpandRelinks)) {
    Relink(heads);
  } else if (!CopyNodes(heads)) {
    FreeTable(heads);
    pmem::mark("expand.refused");
    return POWERCUT_FULL;
  }
  SKIP_IF (Bug::kExpandPublishEarly) pmem::persist(WordAt(heads), bytes);
  pmem::mark("expand.built");
  SetWord(&root()->heads, heads);
  DO_IF (Bug::kExpandPublishEarly) pmem::persist(WordAt(heads), bytes);
  pmem::mark("expand.published");
  // Unnamed first, freed next: a cut in between leaves blocks that the next open sweeps.
  FreeTable(old);
  return POWERCUT_OK;
}

// Puts a copy of each node under the heads `to`. False where the pool is full.
bool Table::CopyNodes(uint64_t to) {
  for (uint64_t b = 0; b < buckets(); ++b) {
    for (uint64_t at = Heads()[b]; at != 0; at = NodeAt(at)->next) {
      uint64_t* head = HeadIn(to, NodeAt(at)->item.key());
      const uint64_t copy = NewNode(NodeAt(at)->item.key(), NodeAt(at)->item.value(), *head);
      if (copy == 0) return false;
      PersistNode(copy);
      *head = copy;
    }
  }
  return true;
}

// The bug kExpandRelinks: what is right in RAM. The chains of the old heads fall apart while the root names these
// heads.
void Table::Relink(uint64_t to) {
  for (uint64_t b = 0; b < buckets(); ++b) {
    while (Heads()[b] != 0) {
      Node* node = NodeAt(Heads()[b]);
      uint64_t* head = HeadIn(to, node->item.key());
      const uint64_t at = Heads()[b];
      SetWord(&Heads()[b], node->next);
      SetWord(&node->next, *head);
      *head = at;
    }
  }
}

// Precondition: the root does not name these heads.
void Table::FreeTable(uint64_t heads) {
  const uint64_t buckets = *WordAt(heads);
  for (uint64_t b = 0; b < buckets; ++b) {
    for (uint64_t at = WordAt(heads)[1 + b]; at != 0; at = NodeAt(at)->next) allocator_.Free(at);
  }
  allocator_.Free(heads);
}

}  // namespace powercut::chained
