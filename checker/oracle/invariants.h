// Judges one result against the history: which invariant it violates, and in which words.
#ifndef POWERCUT_CHECKER_ORACLE_INVARIANTS_H_
#define POWERCUT_CHECKER_ORACLE_INVARIANTS_H_

#include <optional>
#include <string>
#include <vector>

#include "checker/oracle/history.h"
#include "checker/oracle/queries.h"

namespace powercut {

struct Violation {
  std::string invariant;
  std::string message;                // one sentence
  std::vector<std::string> expected;  // what would have been legal
  std::string found;
  std::optional<uint32_t> key = std::nullopt;  // a walk's: the key of the item that is wrong
};

// How an execution that did not return ended, in words: "died of SIGSEGV". `signal` counts where the kind is kSignal.
std::string ending_text(Outcome::Kind kind, int signal);
// Judges the answer of `open`, or the way in which recovery ended.
std::optional<Violation> judge_recovery(const History& history, const Answer& answer, const std::string& detail);
// One query's result. `traits` bounds copies and leaks, and says whether lookups bind.
std::optional<Violation> judge_query(const History& history, const powercut_traits& traits, QueryId query,
                                     std::string_view result);
// "lookup(17)", "walk(region 3)", "recovery".
std::string describe_query(const History& history, QueryId query);
std::vector<std::string> legal_states(const KeyHistory& key);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_INVARIANTS_H_
