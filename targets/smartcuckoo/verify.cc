// The structural invariants that hold after every recovery, and between operations: each bucket on its own, and the
// forest against one that is made from the table by another way.
#include <new>

#include "targets/common/scheme_target.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {
namespace {

// Connected components by plain union-find over the edges, without directions.
class Components {
 public:
  explicit Components(uint32_t vertices) : vertex_(new(std::nothrow) Vertex[vertices]) {
    for (uint32_t v = 0; vertex_ != nullptr && v < vertices; ++v) vertex_[v] = {v, 1, 0, 0};
  }
  bool ok() const { return vertex_ != nullptr; }
  uint32_t Root(uint32_t v) const {
    while (vertex_[v].parent != v) v = vertex_[v].parent = vertex_[vertex_[v].parent].parent;
    return v;
  }
  void AddEdge(uint32_t a, uint32_t b) {
    a = Root(a);
    b = Root(b);
    ++vertex_[a].edges;
    if (a == b) return;
    vertex_[b].parent = a;
    vertex_[a].vertices += vertex_[b].vertices;
    vertex_[a].edges += vertex_[b].edges;
  }
  uint32_t vertices(uint32_t root) const { return vertex_[root].vertices; }
  uint32_t edges(uint32_t root) const { return vertex_[root].edges; }
  // Pairs a component with a subgraph's ID; false when it has another partner already.
  bool Match(uint32_t root, uint32_t id) {
    if (vertex_[root].partner == 0) vertex_[root].partner = id;
    return vertex_[root].partner == id;
  }

 private:
  struct Vertex {
    uint32_t parent, vertices, edges, partner;
  };
  std::unique_ptr<Vertex[]> vertex_;
};

}  // namespace

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) {
    if (root()->log_bucket != 0) return Broken(message, size, "the undo log is still valid after recovery");
    const uint64_t bytes = Bytes(directory_);
    bool allocated = false;
    allocator_.ForEach([&](uint64_t offset, uint64_t length) {
      allocated = allocated || (offset == directory_.offset && length >= bytes);
    });
    if (!allocated) return Broken(message, size, "the directory lies in no block of its own");
    return VerifyForest(message, size);
  }
  const auto b = static_cast<uint32_t>(region - 1);
  const uint8_t* bucket = Bucket(b);
  const uint8_t token = pmem::atomic_load(bucket + geometry_.token_at);
  if (token > 1) return Broken(message, size, "bucket %u: its token is %u", b, token);
  if (token == 0 || InStash(b)) return POWERCUT_OK;
  const Positions at = PositionsOf(b);
  if (at.first != b && at.second != b) return Broken(message, size, "bucket %u: its item belongs elsewhere", b);
  return POWERCUT_OK;
}

// With forest=on_demand the forest knows some vertices; what it knows must be right, and with it their paths.
powercut_status Table::VerifyForest(char* message, size_t size) {
  Components components(directory_.buckets());
  if (!components.ok()) return POWERCUT_UNSUPPORTED;
  for (uint32_t b = 0; b < directory_.buckets(); ++b) {
    if (options_.on_demand && !forest_.IsVertex(b)) continue;
    const uint32_t backup = geometry_.Occupied(Bucket(b)) ? PositionsOf(b).Other(b) : Forest::kNone;
    if (forest_.Backup(b) != backup) return Broken(message, size, "bucket %u: the forest has another edge", b);
    if (backup != Forest::kNone) components.AddEdge(b, backup);
  }
  uint32_t subgraphs = 0, vertices = 0;
  for (uint32_t b = 0; b < directory_.buckets(); ++b) {
    const uint32_t component = components.Root(b);
    if (forest_.IsVertex(b) != (components.edges(component) != 0)) {
      return Broken(message, size, "bucket %u: %s", b,
                    forest_.IsVertex(b) ? "a vertex without an edge" : "an edge without its vertex");
    }
    if (!forest_.IsVertex(b)) continue;
    const uint32_t id = forest_.Find(b);
    if (!components.Match(component, id)) {
      return Broken(message, size, "bucket %u: its component lies in two subgraphs", b);
    }
    if (forest_.CountVertices(id) != components.vertices(component) ||
        forest_.CountEdges(id) != components.edges(component)) {
      return Broken(message, size, "bucket %u: its subgraph counts %u vertices and %u edges, its component %u and %u",
                    b, forest_.CountVertices(id), forest_.CountEdges(id), components.vertices(component),
                    components.edges(component));
    }
    ++vertices;
    if (component == b) {
      ++subgraphs;
      if (components.edges(component) > components.vertices(component)) {
        return Broken(message, size, "bucket %u: its component is no pseudotree", b);
      }
    }
  }
  const auto [counted, members] = forest_.CountSubgraphs();
  if (counted != subgraphs || members != vertices) {
    return Broken(message, size, "the forest has %u subgraphs of %u vertices, the table %u of %u", counted, members,
                  subgraphs, vertices);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::smartcuckoo
