#include "tracer/view/trace_stats.h"

#include "tracer/format/event_groups.h"
#include "tracer/format/trace_names.h"

namespace powercut {

namespace {

constexpr uint64_t kLineShift = 6, kBlockShift = 8;

void add_to(OperationCounters& sum, const OperationCounters& part) {
  sum.operations += part.operations;
  sum.stores += part.stores;
  sum.nt_stores += part.nt_stores;
  sum.store_bytes += part.store_bytes;
  sum.flushes += part.flushes;
  sum.fences += part.fences;
  sum.lines += part.lines;
  sum.blocks += part.blocks;
}

void touch(absl::flat_hash_set<uint64_t>& set, const Event& event, uint64_t shift) {
  for (uint64_t unit = event.addr >> shift; unit <= (event.addr + event.size - 1) >> shift; ++unit) set.insert(unit);
}

}  // namespace

void TraceStats::close(Running& running) {
  running.counters.lines = running.lines.size();
  running.counters.blocks = running.blocks.size();
  const OperationCounters& counters = running.counters;
  bool anything = counters.operations + counters.stores + counters.flushes + counters.fences > 0;
  if (anything) {
    add_to(all_[running.kind], counters);
    if (running.explored) add_to(explored_[running.kind], counters);
  }
  running.kind = "none";
  running.counters = {};
  running.explored = exploring_;
  running.lines.clear();
  running.blocks.clear();
}

void TraceStats::add(const Event& event) {
  ++events_;
  ++events_by_kind_[name_of(event.kind)];
  Running& running =
      threads_.try_emplace(event.thread, Running{.explored = exploring_, .counters = {}, .lines = {}, .blocks = {}})
          .first->second;
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      ++running.counters.stores;
      running.counters.nt_stores += event.kind == EventKind::kNtStore ? 1 : 0;
      running.counters.store_bytes += event.size;
      touch(running.lines, event, kLineShift);
      touch(running.blocks, event, kBlockShift);
      break;
    case EventKind::kFlush:
      ++running.counters.flushes;
      break;
    case EventKind::kFence:
      ++running.counters.fences;
      break;
    case EventKind::kOpBegin:
      close(running);
      running.kind = name_of(static_cast<OpKind>(event.code));
      running.counters.operations = 1;
      break;
    case EventKind::kOpEnd:
      close(running);
      break;
    case EventKind::kMarker:
      if (exploring_) ++marks_[std::string(event.text)];
      break;
    case EventKind::kPhase:
    case EventKind::kCut:
      // A cut ends the operation that it interrupted; a phase begins between operations.
      if (event.kind == EventKind::kPhase) exploring_ = event.code == 1;
      for (auto& [thread, other] : threads_) close(other);
      break;
    case EventKind::kContent:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_TREE_EVENTS:
      break;
  }
}

void TraceStats::finish() {
  for (auto& [thread, running] : threads_) close(running);
}

uint64_t TraceStats::operations() const {
  uint64_t sum = 0;
  for (const auto& [kind, counters] : all_) sum += counters.operations;
  return sum;
}

Json TraceStats::json(const Table& table) {
  Json result = Json::object();
  for (const auto& [kind, counters] : table) {
    result[kind] = {{"operations", counters.operations}, {"stores", counters.stores},
                    {"nt_stores", counters.nt_stores},   {"store_bytes", counters.store_bytes},
                    {"flushes", counters.flushes},       {"fences", counters.fences},
                    {"lines", counters.lines},           {"blocks", counters.blocks}};
  }
  return result;
}

Result<TraceStats> stats_of(TraceReader& reader) {
  TraceStats stats;
  Event event;
  while (reader.next(&event)) stats.add(event);
  if (reader.error()) return usage_error(*reader.error());
  stats.finish();
  return stats;
}

}  // namespace powercut
