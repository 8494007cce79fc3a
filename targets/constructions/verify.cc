// The invariants that hold after every recovery, and how a list is drawn.
#include "targets/common/drawing.h"
#include "targets/common/scheme_target.h"
#include "targets/constructions/table.h"

namespace powercut::constructions {

bool Table::Reaches(uint64_t offset) const {
  bool is_reached = false;
  for (uint64_t region = 0; region < regions() && !is_reached; ++region) {
    ForEachNode(region, [&](const Node& node) { return is_reached = nodes_.LinkTo(&node) == offset; });
  }
  return is_reached;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  powercut_status status = POWERCUT_OK;
  const Node* before = nullptr;
  ForEachNode(region, [&](const Node& node) {
    if (!nodes_.Contains(nodes_.LinkTo(&node))) {
      status = Broken(message, size, "list %llu leads out of the nodes", number(region));
    } else if (RegionOf(node.key) != region) {
      status =
          Broken(message, size, "list %llu: a node belongs to list %llu", number(region), number(RegionOf(node.key)));
    } else if (before != nullptr && before->key >= node.key) {
      status = Broken(message, size, "list %llu: two nodes are out of order", number(region));
    } else if ((node.next & kUnflushed) != 0) {
      status = Broken(message, size, "list %llu: a link bears the mark of an operation that has ended", number(region));
    }
    before = &node;
    return status != POWERCUT_OK;
  });
  return status;
}

void Table::Draw(Drawing* to) const {
  to->Group("lists");
  for (uint64_t region = 0; region < regions() && to->Wants(); ++region) {
    to->Bucket(region);
    to->Pointer("head", Head(region));
    uint32_t slot = 0;
    ForEachNode(region, [&](const Node& node) {
      to->Item(slot++, BytesOf(node.key), BytesOf(node.value), &node, sizeof node);
      return !to->Wants();
    });
  }
}

}  // namespace powercut::constructions

POWERCUT_DRAWS(powercut::constructions::Table)
