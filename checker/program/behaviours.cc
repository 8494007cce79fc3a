#include "checker/program/behaviours.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "replayer/executor/novelty.h"

namespace powercut {
namespace {

// A behaviour at one crash point: which contents of which sets it allows.
struct Applied {
  size_t behaviour;
  struct Line {
    size_t set;
    std::vector<bool> allowed;  // by content
  };
  std::vector<Line> lines;
};

// Nothing when a definite line, or every content of a pending one, disagrees.
bool apply(const Behaviour& behaviour, const LineSets& sets, const uint8_t* pool, Applied* out) {
  for (const ReadLine& read : behaviour.reads) {
    const auto set = std::lower_bound(sets.begin(), sets.end(), read.line,
                                      [](const LineSet* s, uint64_t line) { return s->line < line; });
    if (set == sets.end() || (*set)->line != read.line) {
      Content definite;
      std::memcpy(definite.bytes.data(), pool + read.line * kLineSize, kLineSize);
      if (!read.agrees(definite)) return false;
      continue;
    }
    Applied::Line line = {static_cast<size_t>(set - sets.begin()), {}};
    bool any = false, all = true;
    for (const Content& content : (*set)->contents) {
      const bool agrees = read.agrees(content);
      line.allowed.push_back(agrees);
      any = any || agrees;
      all = all && agrees;
    }
    if (!any) return false;
    if (!all) out->lines.push_back(std::move(line));
  }
  return true;
}

// Splits `box` into what `applied` allows, left in it, and disjoint rests. False when it allows nothing of it.
bool split(const Applied& applied, Box* box, std::vector<Box>* rests) {
  std::vector<std::vector<uint32_t>> inside(applied.lines.size()), outside(applied.lines.size());
  for (size_t i = 0; i < applied.lines.size(); ++i) {
    const Applied::Line& line = applied.lines[i];
    for (const uint32_t content : (*box)[line.set]) {
      (line.allowed[content] ? inside[i] : outside[i]).push_back(content);
    }
    if (inside[i].empty()) return false;
  }
  for (size_t i = 0; i < applied.lines.size(); ++i) {
    std::vector<uint32_t>& contents = (*box)[applied.lines[i].set];
    if (!outside[i].empty()) {
      contents = std::move(outside[i]);
      rests->push_back(*box);
    }
    contents = std::move(inside[i]);
  }
  return true;
}

}  // namespace

Box whole_box(const LineSets& sets) {
  Box out;
  for (const LineSet* set : sets) {
    out.emplace_back(set->contents.size());
    std::iota(out.back().begin(), out.back().end(), 0);
  }
  return out;
}

BigInt size_of(const Box& box) {
  BigInt out = 1;
  for (const std::vector<uint32_t>& contents : box) out *= contents.size();
  return out;
}

bool ReadLine::agrees(const Content& other) const { return (differing_bytes(content, other) & mask) == 0; }

size_t Behaviours::add(Behaviour behaviour) {
  known_.push_back(std::move(behaviour));
  return known_.size() - 1;
}

void Behaviours::cover(const LineSets& sets, const uint8_t* pool, Box box, size_t first,
                       std::vector<Answered>* answered, std::vector<Box>* rest) const {
  std::vector<Applied> applied;
  for (size_t i = first; i < known_.size(); ++i) {
    Applied one = {i, {}};
    if (apply(known_[i], sets, pool, &one)) applied.push_back(std::move(one));
  }
  // A box, and the first behaviour that it was not held against: a rest disagrees with all before it.
  std::vector<std::pair<Box, size_t>> open;
  open.emplace_back(std::move(box), 0);
  size_t made = 0;
  while (!open.empty()) {
    auto [at, next] = std::move(open.back());
    open.pop_back();
    std::vector<Box> rests;
    while (next < applied.size() && made < kMostBoxes && !split(applied[next], &at, &rests)) ++next;
    if (next == applied.size() || made >= kMostBoxes) {
      rest->push_back(std::move(at));
      continue;
    }
    answered->push_back({std::move(at), applied[next].behaviour});
    made += 1 + rests.size();
    for (Box& one : rests) open.emplace_back(std::move(one), next + 1);
  }
}

}  // namespace powercut
