// Finding, inserting, updating and deleting. Every change is one store to one link, which names what is durable
// already.
#include <cstring>

#include "targets/chained/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::chained {

// The word that names the key's node: a head, or the `next` of the node before. The word is 0 if the key is absent.
uint64_t* Table::FindLink(Bytes key) const {
  uint64_t* link = Head(key);
  while (*link != 0 && !(NodeAt(*link)->item.key() == key)) link = &NodeAt(*link)->next;
  return link;
}

// A node that nobody names yet and that is not durable yet; 0 where the pool is full.
uint64_t Table::NewNode(Bytes key, Bytes value, uint64_t next) {
  const Node node = {.next = next, .item = {key.size, value.size}};
  const uint64_t offset = allocator_.Allocate(node.size());
  if (offset == 0) return 0;
  *NodeAt(offset) = node;
  value.CopyTo(key.CopyTo(NodeAt(offset) + 1));
  return offset;
}

powercut_status Table::Insert(Bytes key, Bytes value) {
  if (*FindLink(key) != 0) return POWERCUT_EXISTS;
  // Where the pool has no room for more heads, the chains grow.
  if (options_.auto_expand && root()->count >= options_.load * buckets()) Expand();
  uint64_t* head = Head(key);
  const uint64_t node = NewNode(key, value, *head);
  if (node == 0) return POWERCUT_FULL;
  DO_IF (Bug::kInsertNextLate) NodeAt(node)->next = 0;
  SKIP_IF (Bug::kInsertLinkFirst) PersistNode(node);
  DO_IF (Bug::kInsertNextLate) NodeAt(node)->next = *head;
  SetWord(head, node);
  DO_IF (Bug::kInsertNextLate) pmem::persist(&NodeAt(node)->next, sizeof(uint64_t));
  DO_IF (Bug::kInsertLinkFirst) PersistNode(node);
  pmem::mark(NodeAt(node)->next == 0 ? "insert.first" : "insert.chained");
  SetCount(root()->count + 1);
  return POWERCUT_OK;
}

powercut_status Table::Update(Bytes key, Bytes value) {
  uint64_t* link = FindLink(key);
  const uint64_t old = *link;
  if (old == 0) return POWERCUT_NOT_FOUND;
  if (Has(Bug::kUpdateInPlace) && NodeAt(old)->item.value_size == value.size) {
    value.CopyTo(const_cast<uint8_t*>(NodeAt(old)->item.value().data));
    PersistNode(old);
    return POWERCUT_OK;
  }
  const uint64_t node = NewNode(key, value, NodeAt(old)->next);
  if (node == 0) return POWERCUT_FULL;
  PersistNode(node);
  DO_IF (Bug::kUpdateUnlinksFirst) SetWord(link, NodeAt(old)->next);
  DO_IF (Bug::kUpdateFreesFirst) allocator_.Free(old);
  SetWord(link, node);
  pmem::mark("update.switched");
  SKIP_IF (Bug::kUpdateFreesFirst) allocator_.Free(old);
  return POWERCUT_OK;
}

powercut_status Table::Erase(Bytes key) {
  uint64_t* link = FindLink(key);
  const uint64_t node = *link;
  if (node == 0) return POWERCUT_NOT_FOUND;
  DO_IF (Bug::kEraseFreesFirst) allocator_.Free(node);
  DO_IF (Bug::kEraseNotFlushed) pmem::atomic_store(link, NodeAt(node)->next);
  SKIP_IF (Bug::kEraseNotFlushed) SetWord(link, NodeAt(node)->next);
  pmem::mark("erase.unlinked");
  SKIP_IF (Bug::kEraseFreesFirst) allocator_.Free(node);
  SetCount(root()->count - 1);
  return POWERCUT_OK;
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const uint64_t node = *FindLink(key);
  if (node == 0) return POWERCUT_NOT_FOUND;
  value->Put(NodeAt(node)->item.value());
  return POWERCUT_OK;
}

}  // namespace powercut::chained
