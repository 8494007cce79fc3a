// The searches: which schedules of a machine's threads are tried, and where on the way the power may be cut. One file
// for each search:
//   bounded.cc  every schedule, or every one with so many preemptions at most; no state is entered twice
//   sampled.cc  random schedules, or schedules by priorities that change a few times (PCT)
//
// Crash points are saturated cuts, each frontier once: equal images under equal obligations are judged alike, whatever
// schedule has led to them.
#ifndef POWERCUT_REPLAYER_SCHEDULES_SEARCH_H_
#define POWERCUT_REPLAYER_SCHEDULES_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/schedules/machine.h"

namespace powercut {

struct SearchCounts {
  uint64_t schedules = 0;  // ways that ended: at the end of all threads, in trouble, or in a known state
  uint64_t ended = 0;      // schedules in which every thread has ended
  uint64_t states = 0;
  uint64_t steps = 0;
  uint64_t cuts = 0;  // saturated cuts met
  uint64_t frontiers = 0;
  uint64_t restarts = 0;
  bool complete = false;
  std::string reason;  // why the search is not complete
};

struct SearchLimits {
  std::optional<uint32_t> preemptions;  // none: every schedule
  uint64_t schedules = 0;               // sampled: their number; bounded: their limit, 0 for none
  uint64_t seed = 0;
  uint32_t changes = 3;  // pct: changes of priorities in a schedule
  bool looks = true;     // false: cuts and troubles are not looked at
};

// Number of steps after which a schedule is not followed any further. A schedule that stores in each turn of a loop
// comes to a new state in each turn, and to no end.
inline constexpr size_t kLongestSchedule = 10'000;

class ScheduleSearch {
 public:
  // Called at each new frontier and at each trouble; the machine stands at the cut or the trouble.
  using Visit = std::function<void()>;
  // Asked now and then whether to give up; returns the reason, or nothing to go on.
  using Stop = std::function<std::optional<std::string>(const SearchCounts&)>;

  ScheduleSearch(ScheduleMachine* machine, SearchLimits limits, Visit visit, Stop stop)
      : machine_(machine), limits_(limits), visit_(std::move(visit)), stop_(std::move(stop)) {}
  virtual ~ScheduleSearch() = default;
  virtual void run() = 0;
  const SearchCounts& counts() const { return counts_; }

 protected:
  // Looks at the state that the machine stands at, if the state is a saturated cut; with `anywhere` always.
  void look(bool anywhere = false);
  // Lets every thread that does not stand at a cut go on to its next cut, and looks at the resulting state. A power cut
  // there leaves all that a cut leaves in any schedule from here, until a floor is raised. `first` goes on before the
  // others: the search will be in these states anyway.
  void saturate(uint32_t first);
  bool saturated() const;
  // Returns whether every thread has come to its end.
  bool ended() const;

  ScheduleMachine* machine_;
  SearchLimits limits_;
  Visit visit_;
  Stop stop_;
  SearchCounts counts_;
  absl::flat_hash_set<Digest> frontiers_, troubles_;
  // States from which saturate() has led threads on, with the number of its call. Valid until more events are visible.
  absl::flat_hash_map<Digest, uint64_t> led_on_;
  uint64_t ways_on_ = 0;
  size_t longest_way_on_ = kLongestSchedule;
};

// `kind`: "bounded", "random" or "pct"; null for any other.
std::unique_ptr<ScheduleSearch> make_search(const std::string& kind, ScheduleMachine* machine, SearchLimits limits,
                                            ScheduleSearch::Visit visit, ScheduleSearch::Stop stop);
std::unique_ptr<ScheduleSearch> make_bounded_search(ScheduleMachine* machine, SearchLimits limits,
                                                    ScheduleSearch::Visit visit, ScheduleSearch::Stop stop);
std::unique_ptr<ScheduleSearch> make_random_search(ScheduleMachine* machine, SearchLimits limits,
                                                   ScheduleSearch::Visit visit, ScheduleSearch::Stop stop);
std::unique_ptr<ScheduleSearch> make_pct_search(ScheduleMachine* machine, SearchLimits limits,
                                                ScheduleSearch::Visit visit, ScheduleSearch::Stop stop);

// Runs schedules before a search begins, to learn which places threads share: a search that meets a new shared place
// begins again. First come random schedules, until `kQuiet` in a row have not changed the number that `known` returns.
// This number must grow with the known places. Then come the schedules with one preemption. No cut is looked at.
void rehearse(ScheduleMachine* machine, uint64_t seed, const std::function<uint64_t()>& known,
              const ScheduleSearch::Stop& stop);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SCHEDULES_SEARCH_H_
