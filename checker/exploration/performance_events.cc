#include "checker/exploration/performance_events.h"

#include <algorithm>
#include <set>
#include <utility>

namespace powercut {
namespace {

Json persisting_event(const Persisting& persisting, const TraceReader& stacks) {
  std::set<std::pair<uint32_t, uint64_t>> frames;
  for (const uint32_t stack : persisting.stores) {
    for (const Frame& frame : stacks.stack(stack)) frames.emplace(frame.module, frame.offset);
  }
  Json stores = Json::array(), flushes = Json::array();
  for (const auto& [module, offset] : frames) stores.push_back(Json::array({module, offset}));
  for (const uint32_t stack : persisting.flushes) {
    Json calls = Json::array();
    for (const Frame& frame : stacks.stack(stack)) calls.push_back(Json::array({frame.module, frame.offset}));
    if (!calls.empty()) flushes.push_back(calls);
  }
  return {{"event", "persisting"}, {"stores", stores}, {"flushes", flushes}};
}

Json performance_bug_event(const PerformanceBug& row, const TraceReader& stacks) {
  Json stack = Json::array();
  for (const Frame& frame : stacks.stack(row.stack)) stack.push_back(Json::array({frame.module, frame.offset}));
  return {{"event", "performance_bug"},
          {"kind", row.kind},
          {"count", row.count},
          {"of", row.of},
          {"stack", stack},
          {"offset", row.offset},
          {"first_event", row.event},
          {"message", row.message}};
}

}  // namespace

std::vector<Json> performance_events(const std::vector<PerformanceBug>& rows, const Persisting& persisting,
                                     const TraceReader& stacks) {
  std::vector<Json> out;
  const auto flushes = [](const PerformanceBug& row) { return row.kind != "never-persisted"; };
  if (std::ranges::any_of(rows, flushes)) out.push_back(persisting_event(persisting, stacks));
  for (const PerformanceBug& row : rows) out.push_back(performance_bug_event(row, stacks));
  return out;
}

}  // namespace powercut
