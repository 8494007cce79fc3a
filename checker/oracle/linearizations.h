// Contents that a key may have after a power cut, whatever its operations did at the same time.
//
// Durable linearizability (Izraelevitz, Mendes and Scott, DISC 2016) splits by key: some order of the key's operations
// explains all answers and the content that is left. Operations that had ended stand in the order; operations that the
// power cut took may or may not. No operation stands before one that had ended when it began. Reads are operations like
// the others: a lookup that returned a value which the cut took away has no such order.
//
// The orders are not enumerated (Wing and Gong, JPDC 1993; Lowe, CCPE 2017). A configuration at an instant has all that
// counts: the key's content, which operations under way have had their effect, and the answers that these still owe.
// One thread has two such configurations at most. Their number grows with the operations under way, not with the
// history.
//
// A counter holds a sum, and an increment has its effect on whatever the sum is: every acknowledged increment is in
// each sum that may be left, and one under way in some of them.
#ifndef POWERCUT_CHECKER_ORACLE_LINEARIZATIONS_H_
#define POWERCUT_CHECKER_ORACLE_LINEARIZATIONS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "powercut/target.h"
#include "tracer/format/trace.h"

namespace powercut {

inline constexpr int32_t kAbsent = -1;

class Linearizations {
 public:
  // The state of a key. A map: a value's number, or kAbsent. A counter: its sum, of which 0 is an absent key.
  using State = int64_t;
  // `found`: the state that a lookup returned with POWERCUT_OK.
  struct Answer {
    powercut_status status = POWERCUT_OK;
    State found = kAbsent;
    auto operator<=>(const Answer&) const = default;
  };

  // Effect of an operation at one instant, on a key that holds `holds`.
  struct Effect {
    State holds;
    Answer answer;
  };
  // `value`: what an insert or update writes, or the difference of an increment. `absent`: 0 for a counter.
  static Effect effect_of(OpKind kind, State value, State holds, State absent = kAbsent);
  // Whether the answer says what the operation found.
  static bool tells(powercut_status status);

  // `initial`: each state that the key may have when its operations begin. `counts`: the key is a counter.
  explicit Linearizations(const std::set<State>& initial = {kAbsent}, bool counts = false)
      : absent_(counts ? 0 : kAbsent) {
    for (const State state : initial) configurations_.insert({state, {}});
  }

  // An operation begins; `value` as of effect_of(). Returns its number until it ends.
  uint32_t begin(OpKind kind, State value = kAbsent);
  // The operation has ended. OK, NOT_FOUND and EXISTS tell whether the key was there; any other status tells that
  // nothing changed.
  void end(uint32_t number, Answer answer);
  // A power cut: what is under way has had its effect, or never will.
  void cut();

  // Contents that the key may have if the power is cut now. None: no order explains the answers so far.
  std::set<State> states() const;
  // Digest of all that later answers depend on: equal for equal configurations and operations under way.
  uint64_t digest() const;

 private:
  struct Operation {
    OpKind kind;
    State value;
  };
  struct Configuration {
    State holds;
    std::vector<std::optional<Answer>> owed;  // by number, of operations that have had their effect
    auto operator<=>(const Configuration&) const = default;
  };

  // The configurations, and those that they become by effects of operations under way.
  std::set<Configuration> reached() const;

  State absent_;
  std::vector<std::optional<Operation>> under_way_;  // by number
  std::set<Configuration> configurations_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_LINEARIZATIONS_H_
