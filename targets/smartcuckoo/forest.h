// The directed pseudoforest (paper, 2.2 and 3.1): a vertex is a bucket, an edge is an item, from the bucket that
// holds it to its backup position. Volatile, and blind to the table: callers say which edges there are.
//
// A subgraph has as many edges as vertices (*maximal*: a cycle, no vacancy) or one edge less (*non-maximal*: a tree
// whose paths all lead to its one vacant vertex). Two counts therefore predetermine an insertion.
//
// invariant: an edge of a vertex is here when the vertex is, so every path that begins here ends here. A forest that
// knows only some vertices of the table (forest=on_demand) is therefore exact about those: the vacancy of a subgraph,
// or its cycle, is where its paths lead, and each further vertex comes with its edge.
#ifndef POWERCUT_TARGETS_SMARTCUCKOO_FOREST_H_
#define POWERCUT_TARGETS_SMARTCUCKOO_FOREST_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace powercut::smartcuckoo {

// The cases of 3.2 and Algorithms 1 and 4.
enum class Case : uint8_t {
  kTwoNewVertices,  // v+2
  kOneNewVertex,    // v+1
  kOneNonMaximal,   // v+0, both positions in one subgraph
  kTwoNonMaximal,   // v+0, two subgraphs with a vacancy each
  kMixed,           // v+0, two subgraphs, one of them with a vacancy
  kTwoMaximal,      // v+0: the insertion fails
  kOneMaximal,      // v+0: the insertion fails
};

struct Forecast {
  Case which = Case::kTwoNewVertices;
  uint32_t start = 0;  // where the item goes: vacant, or the head of a kick-out path that ends at a vacancy

  bool fails() const { return which == Case::kTwoMaximal || which == Case::kOneMaximal; }
};

class Forest {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // False: no memory.
  bool Allocate(uint32_t vertices);

  bool IsVertex(uint32_t v) const { return vertex_[v].id != 0; }
  // Where the edge of a vertex leads: the backup position of the item in this bucket, or kNone.
  uint32_t Backup(uint32_t v) const { return vertex_[v].edge == 0 ? kNone : vertex_[v].edge - 1; }
  void SetBackup(uint32_t v, uint32_t to) { vertex_[v].edge = to == kNone ? 0 : to + 1; }

  // Returns the forecast for an item with the positions a and b; changes nothing.
  Forecast Predetermine(uint32_t a, uint32_t b);
  // The item's edge, undirected: counts it, adds vertices, merges subgraphs. SetBackup gives it its direction.
  void Link(uint32_t a, uint32_t b);
  // Takes the edge out of `v` away and separates its subgraph (Algorithm 5); false: the edge was part of the cycle, and
  // its subgraph stays one. Precondition: v has an edge.
  bool Unlink(uint32_t v);

  // The root of the tree of IDs (Find of 3.3). Precondition: IsVertex(v).
  uint32_t Find(uint32_t v);
  bool IsMaximal(uint32_t root) const { return subgraph_[root].edges == subgraph_[root].vertices; }
  uint32_t CountVertices(uint32_t root) const { return subgraph_[root].vertices; }
  uint32_t CountEdges(uint32_t root) const { return subgraph_[root].edges; }

  // Returns the size of the memory that Allocate() took.
  uint64_t CountBytes() const { return Ids() * sizeof(Subgraph) + vertices_ * (sizeof(Vertex) + sizeof(uint32_t)); }

  // How many subgraphs there are, and of how many vertices in all.
  std::pair<uint32_t, uint32_t> CountSubgraphs() const;

  // The kick-out path from `v` to the vacancy, both included. Precondition: the subgraph of v is non-maximal.
  // Valid until the next call of anything but SetBackup.
  std::pair<const uint32_t*, uint32_t> PathFrom(uint32_t v);

 private:
  // All numbers are stored plus one, so that memory that was never written means none.
  struct Vertex {
    uint32_t id;    // a leaf of the tree of IDs
    uint32_t next;  // the members of a subgraph are a ring
    uint32_t edge;
  };
  struct Subgraph {
    uint32_t parent;  // 0: a root
    uint32_t vertices, edges;
    uint32_t member;  // any one
  };
  template <typename T>
  using Array = std::unique_ptr<T[], decltype([](T* array) { std::free(array); })>;
  static constexpr uint32_t kWalking = ~uint32_t{0};

  uint64_t Ids() const { return uint64_t{2} * vertices_ + 1; }
  void ReserveIds(uint32_t count);
  uint32_t NewId();
  void Compact();
  void AddMember(uint32_t v, uint32_t root);
  // Gives v and the vertices on its path the ID of what the path leads to: `with`, or else `rest`.
  void Colour(uint32_t v, uint32_t with, uint32_t rest);

  uint32_t vertices_ = 0;
  uint32_t last_id_ = 0;
  Array<Vertex> vertex_;
  Array<Subgraph> subgraph_;
  Array<uint32_t> path_;  // scratch
};

}  // namespace powercut::smartcuckoo
#endif  // POWERCUT_TARGETS_SMARTCUCKOO_FOREST_H_
