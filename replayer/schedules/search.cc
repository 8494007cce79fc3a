#include "replayer/schedules/search.h"

#include <string_view>
#include <utility>

namespace powercut {

bool ScheduleSearch::saturated() const {
  for (uint32_t thread = 0; thread < machine_->threads(); ++thread) {
    if (!machine_->at_cut(thread)) return false;
  }
  return true;
}

bool ScheduleSearch::ended() const {
  for (uint32_t thread = 0; thread < machine_->threads(); ++thread) {
    if (machine_->state_of(thread) != ThreadState::kEnded) return false;
  }
  return true;
}

void ScheduleSearch::look() {
  if (!limits_.looks) return;
  if (machine_->troubled()) {
    if (troubles_.insert(machine_->state()).second) visit_();
    return;
  }
  if (!saturated()) return;
  ++counts_.cuts;
  if (!frontiers_.insert(machine_->frontier()).second) return;
  ++counts_.frontiers;
  visit_();
}

// One that went on may have woken another, which stands at no cut any more: so until all do. Where they never do, one
// stores in each turn of a loop; from the next states it will again.
//
// A state from which this was done before comes to a cut that was looked at, unless it is one of this very way.
void ScheduleSearch::saturate(uint32_t first) {
  if (!limits_.looks) return;
  ++ways_on_;
  const size_t most = saturates_ ? kLongestSchedule : 100;
  for (size_t steps = 0; !machine_->troubled(); ++steps) {
    const auto [at, is_new] = led_on_.try_emplace(machine_->state(), ways_on_);
    if (steps == most || (!is_new && at->second == ways_on_)) {
      saturates_ = false;
      return;
    }
    if (!is_new) return;
    uint32_t thread = first;
    if (thread >= machine_->threads() || machine_->at_cut(thread)) {
      for (thread = 0; thread < machine_->threads() && machine_->at_cut(thread); ++thread) {
      }
    }
    if (thread == machine_->threads()) break;
    machine_->step(thread);
    ++counts_.steps;
  }
  look();
  for (uint32_t thread = 0; thread < machine_->threads(); ++thread) {
    if (!machine_->at_store(thread)) continue;
    const auto before = machine_->mark();
    machine_->step(thread);
    look();
    machine_->restore(*before);
  }
}

std::unique_ptr<ScheduleSearch> make_search(const std::string& kind, ScheduleMachine* machine, SearchLimits limits,
                                            ScheduleSearch::Visit visit, ScheduleSearch::Stop stop) {
  using Make =
      std::unique_ptr<ScheduleSearch> (*)(ScheduleMachine*, SearchLimits, ScheduleSearch::Visit, ScheduleSearch::Stop);
  static constexpr std::pair<std::string_view, Make> kKinds[] = {
      {"bounded", make_bounded}, {"random", make_random}, {"pct", make_pct}};
  for (const auto& [name, make] : kKinds) {
    if (name == kind) return make(machine, limits, std::move(visit), std::move(stop));
  }
  return nullptr;
}

}  // namespace powercut
