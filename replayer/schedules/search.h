// Which schedules of a machine's threads are tried, and where on the way the power may be cut. One file a way:
//   bounded.cc  every schedule, or every one with so many preemptions at most; no state is entered twice
//   sampled.cc     random ones, or by priorities that change a few times (PCT)
//
// Crash points are saturated cuts, each frontier once (FrontierTable): the same images under the same obligations are
// judged the same, whatever schedule has led to them.
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
  uint64_t schedules = 0;  // ways that came to an end: of all threads, in trouble, or in a state that was known
  uint64_t ended = 0;      // of these, ways in which every thread has ended
  uint64_t states = 0;
  uint64_t steps = 0;
  uint64_t cuts = 0;  // saturated cuts met
  uint64_t frontiers = 0;
  uint64_t restarts = 0;
  bool complete = false;
  std::string reason;  // why it is not
};

struct SearchLimits {
  std::optional<uint32_t> preemptions;  // none: every schedule
  uint64_t schedules = 0;               // sampled: how many; bounded: the most, 0 for no limit
  uint64_t seed = 0;
  uint32_t changes = 3;  // pct: of priorities in a schedule
  bool looks = true;     // false: cuts and troubles are not looked at
};

// Steps after which a schedule is not followed any further. One that stores in each turn of a loop comes to a new state
// each time, and to no end.
inline constexpr size_t kLongestSchedule = 10'000;

class ScheduleSearch {
 public:
  // Called at each frontier that is met for the first time, and at each trouble; the machine stands there.
  using Visit = std::function<void()>;
  // `stop` is asked now and then whether to give up, with the reason.
  using Stop = std::function<std::optional<std::string>(const SearchCounts&)>;

  ScheduleSearch(ScheduleMachine* machine, SearchLimits limits, Visit visit, Stop stop)
      : machine_(machine), limits_(limits), visit_(std::move(visit)), stop_(std::move(stop)) {}
  virtual ~ScheduleSearch() = default;
  virtual void run() = 0;
  const SearchCounts& counts() const { return counts_; }

 protected:
  // The state that the machine stands at: a cut, if it is a saturated one, or `anywhere`.
  void look(bool anywhere = false);
  // Lets every thread that does not stand at a cut go on to its next one, and looks there: what a power cut leaves in
  // any schedule that goes on from here without floors being raised first. `first` goes on before the others, which
  // comes by states that a search will be in anyway.
  void saturate(uint32_t first);
  bool saturated() const;
  // Every thread has come to its end.
  bool ended() const;

  ScheduleMachine* machine_;
  SearchLimits limits_;
  Visit visit_;
  Stop stop_;
  SearchCounts counts_;
  absl::flat_hash_set<Digest> frontiers_, troubles_;
  // States from which threads were led on, and on which way. Good until more events are visible.
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

// Runs schedules to learn which places threads share before a search begins, since all that a search has done is done
// again when it meets one: those drawn at random, until `kQuiet` in a row have not changed what `known` answers, a
// number that grows with what is known; then those with one preemption. Nothing is looked at.
void rehearse(ScheduleMachine* machine, uint64_t seed, const std::function<uint64_t()>& known,
              const ScheduleSearch::Stop& stop);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SCHEDULES_SEARCH_H_
