// Searches a sample of schedules, drawn from a seed. The random search takes at each step any thread that can go on.
// PCT takes the thread of the highest priority (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010). Its
// priorities are drawn once, and fall at a few steps that are drawn as well.
#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "replayer/schedules/search.h"

namespace powercut {
namespace {

// Number of rehearsals in a row without a new place after which the search begins; limit of all rehearsals.
constexpr uint64_t kQuiet = 32, kMostRehearsals = 1024;

std::vector<uint32_t> ready_of(const ScheduleMachine& machine) {
  std::vector<uint32_t> ready;
  for (uint32_t thread = 0; thread < machine.threads(); ++thread) {
    const ThreadState state = machine.state_of(thread);
    if (state == ThreadState::kReady || state == ThreadState::kYields) ready.push_back(thread);
  }
  return ready;
}

// Chooses at random one of the ways of the thread's next step.
void choose_way(ScheduleMachine* machine, uint32_t thread, std::mt19937_64* random) {
  uint64_t ways = machine->ways(thread);
  if (ways == 1) return machine->choose(thread, 0);
  for (uint64_t skip = (*random)() % static_cast<uint64_t>(std::popcount(ways)); skip > 0; --skip) ways &= ways - 1;
  machine->choose(thread, static_cast<uint32_t>(std::countr_zero(ways)));
}

class Sampled final : public ScheduleSearch {
 public:
  Sampled(bool by_priorities, ScheduleMachine* machine, SearchLimits limits, Visit visit, Stop stop)
      : ScheduleSearch(machine, limits, std::move(visit), std::move(stop)),
        by_priorities_(by_priorities),
        random_(limits.seed) {}

  void run() override {
    const std::unique_ptr<ScheduleMachine::Mark> root = machine_->mark();
    const uint64_t wanted = limits_.schedules == 0 ? 1000 : limits_.schedules;
    while (counts_.schedules < wanted) {
      machine_->restore(*root);
      if (!one()) {
        ++counts_.restarts;  // the next schedules have more places to switch at
        led_on_.clear();
      }
      ++counts_.schedules;
      if (std::optional<std::string> reason = stop_(counts_)) {
        counts_.reason = std::move(*reason);
        break;
      }
    }
    if (counts_.reason.empty()) counts_.reason = "a sample of " + std::to_string(counts_.schedules) + " schedules";
    machine_->restore(*root);
  }

 private:
  bool one() {
    std::vector<uint32_t> priorities(machine_->threads());
    std::iota(priorities.begin(), priorities.end(), limits_.changes);
    std::shuffle(priorities.begin(), priorities.end(), random_);
    std::vector<uint64_t> changes(by_priorities_ ? limits_.changes : 0);
    for (uint64_t& change : changes) change = random_() % std::max<uint64_t>(longest_, 1);
    uint64_t length = 0;
    uint32_t last = 0;
    for (;; ++length) {
      look();
      if (machine_->troubled()) break;
      // Looks at a cut beside this schedule: the state to which the other threads would have come.
      const auto here = machine_->mark();
      saturate(last);
      machine_->restore(*here);
      const std::optional<uint32_t> thread = choose(priorities);
      if (!thread) {
        counts_.ended += ended();
        if (!ended()) {
          machine_->deadlocked();
          look();
        }
        break;
      }
      const auto change = std::find(changes.begin(), changes.end(), length);
      if (change != changes.end()) priorities[*thread] = static_cast<uint32_t>(change - changes.begin());
      if (machine_->state_of(*thread) == ThreadState::kYields && by_priorities_) priorities[*thread] = 0;
      last = *thread;
      choose_way(machine_, last, &random_);
      machine_->step(*thread);
      ++counts_.steps;
      ++counts_.states;
      if (machine_->needs_restart()) return false;
    }
    longest_ = std::max(longest_, length);
    return true;
  }

  std::optional<uint32_t> choose(const std::vector<uint32_t>& priorities) {
    const std::vector<uint32_t> ready = ready_of(*machine_);
    if (ready.empty()) return std::nullopt;
    if (!by_priorities_) return ready[random_() % ready.size()];
    return *std::max_element(ready.begin(), ready.end(),
                             [&](uint32_t a, uint32_t b) { return priorities[a] < priorities[b]; });
  }

  bool by_priorities_;
  std::mt19937_64 random_;
  uint64_t longest_ = 64;
};

}  // namespace

void rehearse(ScheduleMachine* machine, uint64_t seed, const std::function<uint64_t()>& known,
              const ScheduleSearch::Stop& stop) {
  const std::unique_ptr<ScheduleMachine::Mark> root = machine->mark();
  std::mt19937_64 random(seed);
  uint64_t seen = known();
  for (uint64_t quiet = 0, all = 0; quiet < kQuiet && all < kMostRehearsals && !stop({}); ++all) {
    for (size_t steps = 0; !machine->troubled() && steps < kLongestSchedule; ++steps) {
      const std::vector<uint32_t> ready = ready_of(*machine);
      if (ready.empty()) break;
      const uint32_t thread = ready[random() % ready.size()];
      choose_way(machine, thread, &random);
      machine->step(thread);
    }
    machine->restore(*root);
    quiet = known() == seen ? quiet + 1 : 0;
    seen = known();
  }
  (void)machine->needs_restart();
  make_bounded_search(machine, {.preemptions = 1, .looks = false}, {}, stop)->run();
}

std::unique_ptr<ScheduleSearch> make_random_search(ScheduleMachine* machine, SearchLimits limits,
                                                   ScheduleSearch::Visit visit, ScheduleSearch::Stop stop) {
  return std::make_unique<Sampled>(false, machine, limits, std::move(visit), std::move(stop));
}

std::unique_ptr<ScheduleSearch> make_pct_search(ScheduleMachine* machine, SearchLimits limits,
                                                ScheduleSearch::Visit visit, ScheduleSearch::Stop stop) {
  return std::make_unique<Sampled>(true, machine, limits, std::move(visit), std::move(stop));
}

}  // namespace powercut
