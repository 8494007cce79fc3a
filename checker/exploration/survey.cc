#include "checker/exploration/survey.h"

namespace powercut {

Surveyor::Surveyor(const TraceFollower* follower, uint64_t lines)
    : follower_(follower), performance_bugs_(follower->reader()), written_(lines) {}

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
  // The pending lines at the end of a tree are the lines that one schedule left.
  if (!follower_->in_tree()) {
    survey_.performance_bugs = performance_bugs_.finish(follower_->model());
    survey_.persisting = performance_bugs_.persisting();
  }
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
