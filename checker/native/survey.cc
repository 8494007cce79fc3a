#include "checker/native/survey.h"

#include <map>
#include <set>

namespace powercut {
namespace {

// redundant-flush: the line holds nothing that this flush could make durable (clean, or flushed since its last
// store). redundant-fence: an sfence or mfence with no flush and no non-temporal store of its thread to wait
// for. never-persisted: a store site of which no store was durable when the trace ended.
class Hygiene {
 public:
  void apply(const Event& event) {
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        ++stores_[event.stack].total;
        if (stores_[event.stack].total == 1) stores_[event.stack].first = event;
        for (uint64_t line = event.addr / 64; line <= (event.addr + event.size - 1) / 64; ++line) {
          if (event.kind == EventKind::kStore) dirty_.insert(line);
        }
        if (event.kind == EventKind::kNtStore) waiting_.insert(event.thread);
        return;
      case EventKind::kFlush:
        if (dirty_.erase(event.addr / 64) == 0) {
          count("redundant-flush", event);
        } else {
          waiting_.insert(event.thread);
        }
        return;
      case EventKind::kFence: {
        const auto kind = static_cast<FenceKind>(event.code);
        const bool had = waiting_.erase(event.thread) > 0;
        // A locked instruction and a lock's fence are there for visibility.
        if (!had && (kind == FenceKind::kSfence || kind == FenceKind::kMfence)) count("redundant-fence", event);
        return;
      }
      default:
        return;
    }
  }

  std::vector<HygieneRow> finish(const Model& model) {
    std::map<uint32_t, std::set<uint64_t>> pending;
    for (const auto& [line, log] : model.pending().lines()) {
      for (const PendingStore& store : log.stores()) pending[store.stack].insert(store.event);
    }
    for (const auto& [stack, events] : pending) {
      const Site& site = stores_[stack];
      if (events.size() < site.total) continue;
      rows_[{"never-persisted", stack}] = {"never-persisted", site.total, stack, site.first.addr, site.first.index};
    }
    std::vector<HygieneRow> out;
    for (auto& [key, row] : rows_) out.push_back(std::move(row));
    return out;
  }

 private:
  struct Site {
    uint64_t total = 0;
    Event first;
  };
  void count(const char* kind, const Event& event) {
    HygieneRow& row = rows_[{kind, event.stack}];
    if (row.count++ == 0) row = {kind, 1, event.stack, event.addr, event.index};
  }

  std::map<uint32_t, Site> stores_;
  std::set<uint64_t> dirty_;
  std::set<uint32_t> waiting_;
  std::map<std::pair<std::string, uint32_t>, HygieneRow> rows_;
};

}  // namespace

Result<Survey> survey(const Session& session, const ExploreOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  auto model = make_model(options.model, options.policy(), session.plan.scenario.pool_size);
  TraceWalk walk(reader->get(), model.get(), session.explored_at_start());
  Frontier frontier(nullptr);
  Hygiene hygiene;
  Survey out;
  std::set<uint64_t> written;
  const auto visit = [&](const Instant&) {
    frontier.follow(model.get());
    out.crash_states += frontier.states();
  };
  const auto saw = [&](const Event& event) {
    hygiene.apply(event);
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    for (uint64_t line = event.addr / 64; line <= (event.addr + event.size - 1) / 64; ++line) written.insert(line);
  };
  while (walk.advance(visit, saw)) {
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  out.crash_points = walk.crash_points();
  out.hygiene = hygiene.finish(*model);
  out.written_lines.assign(written.begin(), written.end());
  return out;
}

}  // namespace powercut
