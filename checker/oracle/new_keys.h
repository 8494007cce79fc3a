// A user's next operations, with other keys than those of the history, and whether the keys of the history notice.
//
//   insert-probe    new keys: insert and look up two, erase the first, insert a third, look up what is left. So a block
//                   is taken, another one while it is taken, and one that was freed
//   new-key         a new key alone: insert it, look it up
//   bystander(k)    lookup of k, a new key, lookup of k again
//
// An allocator that has forgotten a block, a slot that looks free and is not: the next insert overwrites an item whose
// own lookup, and whose own probes, find nothing wrong.
#ifndef POWERCUT_CHECKER_ORACLE_NEW_KEYS_H_
#define POWERCUT_CHECKER_ORACLE_NEW_KEYS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/oracle/queries.h"
#include "tracer/record/data_sizes.h"

namespace powercut {

class NewKeys {
 public:
  static constexpr size_t kKeys = 3;
  // The answer of a bystander that notices nothing.
  static constexpr std::string_view kUndisturbed = "=";
  // [target] Makes two answers of a lookup, of which the first has so many bytes, a bystander's.
  static void noticed(size_t before, ResultBuffer* answers);

  // Keys and values of the scenario's sizes, and of no scenario.
  explicit NewKeys(const DataSizes& sizes);

  // Whether the query is one of the queries above.
  static bool asks(QueryKind kind) {
    return kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey || kind == QueryKind::kBystander;
  }
  // [target] Runs such a query on an open table.
  void run(const powercut_target& target, powercut_table* table, QueryId id, const std::vector<KeyHistory>& keys,
           ResultBuffer* out);
  // The result of an execution of the query that run() did not return from. A bystander tells only of what ends
  // its second lookup; the others of their own end.
  void ended(QueryId id, const Outcome& outcome, ResultBuffer* out) const;

 private:
  std::array<std::string, kKeys> keys_, values_;
};

// Whether all steps with new keys went as they must; where wanted, also the steps as text.
ProbeResult parse_insert_probe(std::string_view result, bool with_text = true);

// The two answers of a bystander that has noticed something, as those of lookups; nothing for any other.
struct Noticed {
  std::string_view before, after;
};
std::optional<Noticed> parse_bystander(std::string_view result);

// Whether the target itself reports damage in the result of a probe, of new keys or of a bystander.
bool says_corrupt(QueryKind kind, std::string_view result);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_NEW_KEYS_H_
