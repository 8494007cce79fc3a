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

void ScheduleSearch::look(bool anywhere) {
  if (!limits_.looks) return;
  if (machine_->troubled()) {
    if (troubles_.insert(machine_->state()).second) visit_();
    return;
  }
  if (!anywhere && !saturated()) return;
  ++counts_.cuts;
  if (!frontiers_.insert(machine_->frontier()).second) return;
  ++counts_.frontiers;
  visit_();
}

// A thread that goes on may wake another thread, which then stands at no cut any more. Therefore threads go on until
// all of them stand at cuts. If a thread stores in each turn of a loop, this never happens, and the way ends where it
// comes back to an earlier state. This state is as good: no step has made anything durable or ended an operation. A cut
// in it leaves all that a cut leaves in any state of the way.
//
// If threads were led on from a state before, its saturated state was looked at then, unless the state belongs to this
// very way.
void ScheduleSearch::saturate(uint32_t first) {
  if (!limits_.looks) return;
  ++ways_on_;
  for (size_t steps = 0; !machine_->troubled(); ++steps) {
    const auto [at, is_new] = led_on_.try_emplace(machine_->state(), ways_on_);
    if (!is_new && at->second != ways_on_) return;
    if (!is_new || steps == longest_way_on_) {
      // The way has shown new states only. Ways from the next states will do the same, so they may be shorter.
      if (is_new) longest_way_on_ = 100;
      break;
    }
    uint32_t thread = first;
    if (thread >= machine_->threads() || machine_->at_cut(thread)) {
      for (thread = 0; thread < machine_->threads() && machine_->at_cut(thread); ++thread) {
      }
    }
    if (thread == machine_->threads()) break;
    machine_->step(thread);
    ++counts_.steps;
  }
  look(true);
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
      {"bounded", make_bounded_search}, {"random", make_random_search}, {"pct", make_pct_search}};
  for (const auto& [name, make] : kKinds) {
    if (name == kind) return make(machine, limits, std::move(visit), std::move(stop));
  }
  return nullptr;
}

}  // namespace powercut
