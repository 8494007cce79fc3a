#include "checker/native/survey.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace powercut {
namespace {

// The instruction that stores, flushes or fences: the innermost frame, whoever called. Stacks that are not known
// share one site.
using Site = std::pair<uint32_t, uint64_t>;  // module, offset

// redundant-flush: the line holds nothing that this flush could make durable (clean, or flushed since its last
// store). redundant-fence: an sfence or mfence with no flush and no non-temporal store of its thread to wait
// for. never-persisted: a store site of which no store was durable as a whole when the trace ended.
//
// Known inaccuracies: a line that another thread flushed, but has not fenced, counts as flushed; a flush that is
// needed for the fence of its own thread is then called redundant.
class Hygiene {
 public:
  explicit Hygiene(const TraceReader& reader) : reader_(reader) {}

  void apply(const Event& event) {
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        count(&stores_[site_of(event.stack)], "never-persisted", event);
        for (uint64_t line = event.addr / 64; line <= (event.addr + event.size - 1) / 64; ++line) {
          if (event.kind == EventKind::kStore) dirty_.insert(line);
        }
        if (event.kind == EventKind::kNtStore) waiting_.insert(event.thread);
        return;
      case EventKind::kFlush:
        if (dirty_.erase(event.addr / 64) == 0) {
          count(&useless_[{event.kind, site_of(event.stack)}], "redundant-flush", event);
        } else {
          waiting_.insert(event.thread);
        }
        return;
      case EventKind::kFence: {
        const auto kind = static_cast<FenceKind>(event.code);
        const bool had = waiting_.erase(event.thread) > 0;
        // A locked instruction and a lock's fence are there for visibility.
        if (!had && (kind == FenceKind::kSfence || kind == FenceKind::kMfence)) {
          count(&useless_[{event.kind, site_of(event.stack)}], "redundant-fence", event);
        }
        return;
      }
      default:
        return;
    }
  }

  // By kind, then in the order of the run.
  std::vector<HygieneRow> finish(const Model& model) const {
    std::map<Site, std::set<uint64_t>> pending;
    for (const auto& [line, log] : model.pending().lines()) {
      for (const PendingStore& store : log.stores()) pending[site_of(store.stack)].insert(store.event);
    }
    std::vector<HygieneRow> out;
    for (const auto& [key, row] : useless_) out.push_back(row);
    for (const auto& [site, events] : pending) {
      const HygieneRow& row = stores_.at(site);
      if (events.size() == row.count) out.push_back(row);
    }
    std::sort(out.begin(), out.end(), [](const HygieneRow& a, const HygieneRow& b) {
      return std::tie(a.kind, a.event) < std::tie(b.kind, b.event);
    });
    return out;
  }

 private:
  Site site_of(uint32_t stack) const {
    const std::span<const Frame> frames = reader_.stack(stack);
    return frames.empty() ? Site{UINT32_MAX, 0} : Site{frames[0].module, frames[0].offset};
  }

  static void count(HygieneRow* row, const char* kind, const Event& event) {
    if (row->count++ == 0) *row = {kind, 1, event.stack, event.addr, event.index};
  }

  const TraceReader& reader_;
  std::map<Site, HygieneRow> stores_;  // every store site, as the row that it may become
  std::map<std::pair<EventKind, Site>, HygieneRow> useless_;
  std::set<uint64_t> dirty_;
  std::set<uint32_t> waiting_;
};

}  // namespace

Result<Survey> survey(const Session& session, const ExploreOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  auto model = make_model(options.model, options.policy(), session.plan.scenario.pool_size);
  TraceWalk walk(reader->get(), model.get(), session.explored_at_start());
  Frontier frontier(nullptr);
  Hygiene hygiene(**reader);
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
