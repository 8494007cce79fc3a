#include "checker/exploration/survey.h"

#include <algorithm>
#include <tuple>

namespace powercut {
namespace {

void count(PerformanceBug* row, const char* kind, const Event& event) {
  if (row->count++ == 0) *row = {kind, 1, event.stack, event.addr, event.index};
}

}  // namespace

PerformanceBugs::PerformanceBugs(const TraceReader& reader, uint64_t lines)
    : reader_(reader), sites_(1), dirty_(lines) {}

size_t PerformanceBugs::site_of(uint32_t stack) {
  const auto [known, is_new] = by_stack_.try_emplace(stack, 0);
  if (!is_new) return known->second;
  const std::span<const Frame> frames = reader_.stack(stack);
  if (frames.empty()) return 0;
  const auto [site, first] = by_place_.try_emplace({frames[0].module, frames[0].offset}, sites_.size());
  if (first) sites_.emplace_back();
  return known->second = site->second;
}

PerformanceBugs::Site& PerformanceBugs::useless(uint32_t stack) {
  if (const auto known = useless_.find(stack); known != useless_.end()) return known->second;
  return useless_.size() < kMostStacks ? useless_[stack] : sites_[site_of(stack)];
}

void PerformanceBugs::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      count(&sites_[site_of(event.stack)].stores, "never-persisted", event);
      if (event.kind == EventKind::kNtStore) {
        waiting_.insert(event.thread);
        return;
      }
      for (uint64_t line = event.addr / 64; line <= (event.addr + event.size - 1) / 64; ++line) {
        if (line >= dirty_.size() || dirty_[line]) continue;
        dirty_[line] = true;
        ++dirty_lines_;
      }
      return;
    case EventKind::kFlush: {
      const uint64_t line = event.addr / 64;
      if (line < dirty_.size() && dirty_[line]) {
        dirty_[line] = false;
        --dirty_lines_;
        if (static_cast<FlushKind>(event.code) != FlushKind::kForce) waiting_.insert(event.thread);
      } else {
        count(&useless(event.stack).flushes, "redundant-flush", event);
      }
      return;
    }
    case EventKind::kFence: {
      const auto kind = static_cast<FenceKind>(event.code);
      if (kind == FenceKind::kDevice) {
        if (dirty_lines_ == 0) {
          count(&useless(event.stack).fences, "redundant-fence", event);
          return;
        }
        dirty_.assign(dirty_.size(), false);
        dirty_lines_ = 0;
        return;
      }
      const bool had = waiting_.erase(event.thread) > 0;
      // A locked instruction and a lock's fence are there for visibility.
      if (!had && (kind == FenceKind::kSfence || kind == FenceKind::kMfence)) {
        count(&useless(event.stack).fences, "redundant-fence", event);
      }
      return;
    }
    default:
      return;
  }
}

std::vector<PerformanceBug> PerformanceBugs::finish(const Model& model) {
  // A store that crosses lines may be pending in several of them.
  std::vector<std::pair<size_t, uint64_t>> pending;  // site, event
  for (const auto& [line, log] : model.pending().lines()) {
    for (const PendingStore& store : log.stores()) pending.emplace_back(site_of(store.stack), store.event);
  }
  std::sort(pending.begin(), pending.end());
  pending.erase(std::unique(pending.begin(), pending.end()), pending.end());
  std::vector<uint64_t> not_durable(sites_.size());
  for (const auto& [site, event] : pending) ++not_durable[site];

  std::vector<PerformanceBug> out;
  const auto add = [&](const PerformanceBug& row) {
    if (row.count > 0) out.push_back(row);
  };
  for (const auto& [stack, rows] : useless_) {
    add(rows.flushes);
    add(rows.fences);
  }
  for (size_t i = 0; i < sites_.size(); ++i) {
    add(sites_[i].flushes);
    add(sites_[i].fences);
    if (not_durable[i] == sites_[i].stores.count) add(sites_[i].stores);
  }
  std::sort(out.begin(), out.end(), [](const PerformanceBug& a, const PerformanceBug& b) {
    return std::tie(a.kind, a.event) < std::tie(b.kind, b.event);
  });
  return out;
}

Surveyor::Surveyor(const TraceFollower* follower, uint64_t lines)
    : follower_(follower), performance_bugs_(follower->reader(), lines), written_(lines) {}

void Surveyor::saw(const Event& event) {
  // In a tree of schedules the same event comes up more than once.
  if (!follower_->in_tree()) performance_bugs_.apply(event);
  if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
  for (uint64_t line = event.addr / 64; line <= (event.addr + event.size - 1) / 64; ++line) {
    if (line < written_.size()) written_[line] = true;
  }
}

Survey Surveyor::finish() {
  survey_.crash_points = follower_->crash_points();
  survey_.searched = follower_->searched();
  // What is pending at the end of a tree is what one schedule left.
  if (!follower_->in_tree()) survey_.performance_bugs = performance_bugs_.finish(follower_->model());
  for (uint64_t line = 0; line < written_.size(); ++line) {
    if (written_[line]) survey_.written_lines.push_back(line);
  }
  return std::move(survey_);
}

Result<Survey> survey(const LoadedTrace& loaded, const ExploreOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  TraceFollower follower(loaded, options.model, options.policy(), std::move(*reader), nullptr);
  Surveyor surveyor(&follower, loaded.plan.scenario.pool_size / kLineSize);
  while (follower.next([&](const Event& event) { surveyor.saw(event); })) {
    follower.follow();
    surveyor.count_states();
  }
  if (const auto error = follower.error()) return usage_error(*error);
  return surveyor.finish();
}

}  // namespace powercut
