// The list: Harris's, with the operations of a map. Nothing here depends on the construction.
//
// An operation takes effect by one compare-and-swap. Insert swaps a node into the left link, and with it erased nodes
// out of the list; erase marks the right node's link; update swaps into the right node's link, by one step, the node's
// successor and the mark that the node itself is erased.
#include "targets/constructions/table.h"

namespace powercut::constructions {

template <typename Operation>
powercut_status Table::Run(Operation operation) {
  const powercut_status status = operation();
  construction_->End();
  return status;
}

Table::Place Table::Search(uint64_t key) {
  Link* link = Head(RegionOf(key));
  Place place{link, link, construction_->Load(link), nullptr, 0, false};
  for (Link at = place.first; at != 0;) {
    Node* node = nodes_.At(at);
    const Link next = construction_->Load(&node->next);
    if ((next & kErased) == 0 && node->key >= key) {
      place.right = node;
      place.next = next;
      place.is_found = node->key == key;
      break;
    }
    if ((next & kErased) == 0) {
      place.parent = link;
      place.left = &node->next;
      place.first = next;
    }
    link = &node->next;
    at = next & ~kErased;
  }
  RestOn(place);
  return place;
}

// The links of erased nodes do not change any more.
void Table::RestOn(const Place& place) {
  if (place.parent != place.left) construction_->RestOn(Role::kParent, place.parent);
  construction_->RestOn(Role::kLeft, place.left);
  const Link end = place.right == nullptr ? 0 : nodes_.LinkTo(place.right);
  for (Link at = place.first; at != end;) {
    const Node* node = nodes_.At(at);
    construction_->RestOn(Role::kErased, &node->next);
    at = pmem::atomic_load(&node->next) & ~kMarks;
  }
  if (place.right != nullptr) construction_->RestOn(Role::kRight, &place.right->next);
}

// Field by field: the rest of the line belongs to nobody, and stays unchanged.
void Table::Fill(Node* node, uint64_t key, uint64_t value, Link next) {
  node->key = key;
  node->value = value;
  node->next = next;
}

// Swaps in a link that names the node.
bool Table::Publish(Node* node, Link* link, Link expected, Link desired) {
  const bool is_early = options_.bug == Bug::kNodePublishedEarly;
  if (!is_early) construction_->Prepare(node);
  const bool is_swapped = construction_->Swap(link, expected, desired);
  if (is_early) pmem::persist(node, sizeof *node);
  return is_swapped;
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  return Run([&] {
    for (Node* node = nullptr;;) {
      const Place place = Search(WordAt(key));
      if (place.is_found) return POWERCUT_EXISTS;
      if (node == nullptr) node = nodes_.Take();
      if (node == nullptr) return POWERCUT_FULL;
      Fill(node, WordAt(key), WordAt(value), place.right == nullptr ? 0 : nodes_.LinkTo(place.right));
      if (Publish(node, place.left, place.first, nodes_.LinkTo(node))) return POWERCUT_OK;
    }
  });
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  return Run([&] {
    for (Node* node = nullptr;;) {
      const Place place = Search(WordAt(key));
      if (!place.is_found) return POWERCUT_NOT_FOUND;
      if (node == nullptr) node = nodes_.Take();
      if (node == nullptr) return POWERCUT_FULL;
      Fill(node, WordAt(key), WordAt(value), place.next);
      const Link successor = nodes_.LinkTo(node);
      if (!Publish(node, &place.right->next, place.next, successor | kErased)) continue;
      pmem::mark("update.marked");
      construction_->Swap(place.left, place.first, successor);
      return POWERCUT_OK;
    }
  });
}

powercut_status Table::Erase(const uint8_t* key) {
  return Run([&] {
    for (;;) {
      const Place place = Search(WordAt(key));
      if (!place.is_found) return POWERCUT_NOT_FOUND;
      if (!construction_->Swap(&place.right->next, place.next, place.next | kErased)) continue;
      pmem::mark("erase.marked");
      construction_->Swap(place.left, place.first, place.next);
      return POWERCUT_OK;
    }
  });
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  return Run([&] {
    const Place place = Search(WordAt(key));
    if (!place.is_found) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &place.right->value, sizeof place.right->value);
    return POWERCUT_OK;
  });
}

}  // namespace powercut::constructions
