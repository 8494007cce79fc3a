#include "targets/smartcuckoo/forest.h"

#include <cassert>

namespace powercut::smartcuckoo {

// At most one subgraph a vertex, so after Compact() at least half of the IDs are free.
bool Forest::Allocate(uint32_t vertices) {
  vertices_ = vertices;
  last_id_ = 0;
  vertex_.reset(static_cast<Vertex*>(std::calloc(vertices, sizeof(Vertex))));
  subgraph_.reset(static_cast<Subgraph*>(std::calloc(Ids(), sizeof(Subgraph))));
  path_.reset(static_cast<uint32_t*>(std::calloc(vertices, sizeof(uint32_t))));
  return vertex_ != nullptr && subgraph_ != nullptr && path_ != nullptr;
}

Forecast Forest::Predetermine(uint32_t a, uint32_t b) {
  if (!IsVertex(a) && !IsVertex(b)) return {Case::kTwoNewVertices, a};
  if (!IsVertex(a)) return {Case::kOneNewVertex, a};
  if (!IsVertex(b)) return {Case::kOneNewVertex, b};
  const uint32_t root_a = Find(a), root_b = Find(b);
  if (root_a == root_b) return {IsMaximal(root_a) ? Case::kOneMaximal : Case::kOneNonMaximal, a};
  if (!IsMaximal(root_a)) return {IsMaximal(root_b) ? Case::kMixed : Case::kTwoNonMaximal, a};
  return {IsMaximal(root_b) ? Case::kTwoMaximal : Case::kMixed, b};
}

uint32_t Forest::Find(uint32_t v) {
  uint32_t id = vertex_[v].id;
  while (subgraph_[id].parent != 0) {
    const uint32_t parent = subgraph_[id].parent;
    if (subgraph_[parent].parent != 0) subgraph_[id].parent = subgraph_[parent].parent;
    id = parent;
  }
  vertex_[v].id = id;
  return id;
}

// Renumbers, so it is called before any ID is taken in hand.
void Forest::ReserveIds(uint32_t count) {
  if (last_id_ + count > 2 * vertices_) Compact();
}

uint32_t Forest::NewId() {
  subgraph_[++last_id_] = {};
  return last_id_;
}

// Renumbers the roots from 1 on. IDs of merged and separated subgraphs are never used again otherwise.
void Forest::Compact() {
  for (uint32_t v = 0; v < vertices_; ++v) {
    if (IsVertex(v)) Find(v);  // leaves the root in the vertex
  }
  uint32_t count = 0;
  for (uint32_t id = 1; id <= last_id_; ++id) {
    if (subgraph_[id].parent == 0 && subgraph_[id].vertices != 0) {
      subgraph_[id].parent = ++count;
    } else {
      subgraph_[id].vertices = 0;
    }
  }
  for (uint32_t v = 0; v < vertices_; ++v) {
    if (IsVertex(v)) vertex_[v].id = subgraph_[vertex_[v].id].parent;
  }
  for (uint32_t id = 1; id <= last_id_; ++id) {
    if (subgraph_[id].vertices == 0) continue;
    const uint32_t to = subgraph_[id].parent;  // never above id
    subgraph_[to] = subgraph_[id];
    subgraph_[to].parent = 0;
  }
  last_id_ = count;
}

void Forest::AddMember(uint32_t v, uint32_t root) {
  Subgraph& subgraph = subgraph_[root];
  vertex_[v].id = root;
  if (subgraph.member == 0) {
    vertex_[v].next = v + 1;
    subgraph.member = v + 1;
  } else {
    Vertex& member = vertex_[subgraph.member - 1];
    vertex_[v].next = member.next;
    member.next = v + 1;
  }
  ++subgraph.vertices;
}

void Forest::Link(uint32_t a, uint32_t b) {
  ReserveIds(1);
  uint32_t root;
  if (!IsVertex(a) && !IsVertex(b)) {
    root = NewId();
    AddMember(a, root);
    AddMember(b, root);
  } else if (!IsVertex(a)) {
    root = Find(b);
    AddMember(a, root);
  } else if (!IsVertex(b)) {
    root = Find(a);
    AddMember(b, root);
  } else if (Find(a) == Find(b)) {
    root = Find(a);
  } else {  // Union of 3.3: the new subgraph's ID is the parent of both
    root = NewId();
    Subgraph &one = subgraph_[Find(a)], &other = subgraph_[Find(b)];
    subgraph_[root].vertices = one.vertices + other.vertices;
    subgraph_[root].edges = one.edges + other.edges;
    subgraph_[root].member = one.member;
    one.parent = other.parent = root;
    std::swap(vertex_[one.member - 1].next, vertex_[other.member - 1].next);  // two rings become one
  }
  ++subgraph_[root].edges;
}

void Forest::Colour(uint32_t v, uint32_t with, uint32_t rest) {
  uint32_t length = 0;
  uint32_t colour = 0;
  while (colour == 0) {
    const uint32_t id = vertex_[v].id;
    if (id == with || id == rest) {
      colour = id;
    } else if (id == kWalking) {
      colour = rest;  // the cycle
    } else {
      vertex_[v].id = kWalking;
      path_[length++] = v;
      if (vertex_[v].edge == 0) {
        colour = rest;  // the vacancy that was there before
      } else {
        v = vertex_[v].edge - 1;
      }
    }
  }
  while (length != 0) vertex_[path_[--length]].id = colour;
}

// The vertices whose paths lead to `v` become a tree with the vacancy v; what is left keeps its vacancy or its cycle.
// The edge of a cycle separates nothing: then all paths lead to v. A vertex without any edge left is no longer one.
bool Forest::Unlink(uint32_t v) {
  const uint32_t backup = vertex_[v].edge - 1;
  ReserveIds(2);
  vertex_[v].edge = 0;
  subgraph_[Find(v)].vertices = 0;
  const uint32_t with = NewId(), rest = NewId();
  vertex_[v].id = with;
  uint32_t at = v;
  do {
    Colour(at, with, rest);
    at = vertex_[at].next - 1;
  } while (at != v);
  do {  // the ring is taken apart while it is walked
    const uint32_t next = vertex_[at].next - 1;
    const uint32_t root = vertex_[at].id;
    AddMember(at, root);
    if (vertex_[at].edge != 0) ++subgraph_[root].edges;
    at = next;
  } while (at != v);
  const bool separated = subgraph_[rest].vertices != 0;
  if (subgraph_[with].vertices == 1) {
    vertex_[v] = {};
    subgraph_[with].vertices = 0;
  }
  if (subgraph_[rest].vertices == 1) {
    assert(vertex_[backup].id == rest && vertex_[backup].edge == 0);
    vertex_[backup] = {};
    subgraph_[rest].vertices = 0;
  }
  return separated;
}

std::pair<uint32_t, uint32_t> Forest::CountSubgraphs() const {
  uint32_t subgraphs = 0, vertices = 0;
  for (uint32_t id = 1; id <= last_id_; ++id) {
    if (subgraph_[id].parent != 0 || subgraph_[id].vertices == 0) continue;
    ++subgraphs;
    vertices += subgraph_[id].vertices;
  }
  return {subgraphs, vertices};
}

std::pair<const uint32_t*, uint32_t> Forest::PathFrom(uint32_t v) {
  uint32_t length = 0;
  for (;; v = vertex_[v].edge - 1) {
    assert(length < vertices_);
    path_[length++] = v;
    if (vertex_[v].edge == 0) return {path_.get(), length};
  }
}

}  // namespace powercut::smartcuckoo
