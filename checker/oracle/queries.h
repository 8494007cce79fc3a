// Questions to a recovered table, and the text of a result. One query reads one key or one region, so that independent
// lines are never multiplied with one another.
#ifndef POWERCUT_CHECKER_ORACLE_QUERIES_H_
#define POWERCUT_CHECKER_ORACLE_QUERIES_H_

#include <string>
#include <string_view>
#include <vector>

#include "checker/oracle/history.h"
#include "replayer/explorer/explorer.h"
#include "tracer/record/target_library.h"

namespace powercut {

enum class QueryKind : uint8_t {
  kRecovery = 0,
  kLookup = 1,      // what a reader of the key sees
  kCopies = 2,      // every physically valid copy of the key
  kProbe = 3,       // lookup, update, lookup, erase, lookup, insert, lookup: run in sequence and undone
  kWalk = 4,        // every item of one region
  kVerify = 5,      // the scheme's own invariants of one region
  kBlocks = 6,      // allocated blocks that nothing reaches
  kEraseProbe = 7,  // the probe without its update, which may mend what the erase should meet
  // new_keys.h
  kInsertProbe = 8,  // new keys: insert, lookup, erase
  kBystander = 9,    // lookup, a new key, and the same lookup again
  kNewKey = 10,      // one new key: insert, lookup
  kDump = 11,        // of a buffered target: the lookup of as many keys as its argument says, the first ones named
};

inline QueryId query_id(QueryKind kind, uint64_t argument) { return uint64_t(kind) << 56 | argument; }
inline QueryKind kind_of(QueryId id) { return static_cast<QueryKind>(id >> 56); }
inline uint64_t argument_of(QueryId id) { return id & ((uint64_t{1} << 56) - 1); }
const char* name_of(QueryKind kind);
// Whether the argument is a key's index; else it is a region, or nothing.
bool asks_key(QueryKind kind);

// [target] Runs a query on an open table. The probe values are as long as those of the scenario, and none that it
// writes.
void run_query(const powercut_target& target, powercut_table* table, QueryId id, const std::vector<KeyHistory>& keys,
               std::string_view probe_one, std::string_view probe_two, ResultBuffer* out);

// Results read back. A result of an execution that did not return begins with '!'.
struct Answer {
  bool failed = false;
  Outcome::Kind kind{};  // failed: how
  int signal = 0;
  powercut_status status = POWERCUT_OK;
  std::string_view rest;  // without the status byte
  // The engine could not follow it to its end: nothing is known of the answer.
  bool unknown() const { return failed && kind == Outcome::Kind::kUnknown; }
};
Answer parse_answer(QueryKind kind, std::string_view result);

struct Item {
  std::string_view key, value;  // copies: the key is empty
};
std::vector<Item> parse_items(std::string_view rest);
// The answer of each key's lookup.
std::vector<Answer> parse_dump(std::string_view rest);
size_t count_items(std::string_view rest);

// Whether all steps of a probe went as they must. Where wanted, also the steps as text, and the fault of the first
// wrong step (wrong_step.h; behind "New key 2" for those of new keys).
struct ProbeResult {
  bool good = true;
  std::string text, wrong;
};
ProbeResult parse_probe(std::string_view result, bool with_text = true);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_QUERIES_H_
