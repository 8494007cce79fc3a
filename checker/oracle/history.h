// The operations on the table and their acknowledgements, up to an instant of the trace: durable linearizability for a
// map (Izraelevitz, Mendes & Scott, DISC 2016), which splits by key. Operations of one thread follow one another, and
// two states are all that is ever legal then. From where operations of several threads overlap, a key has its
// Linearizations, whether it is an item or a counter. On a buffered target all keys have their Prefixes together, and a
// key's legal states are those in them. The counters of a buffered table have no operations that overlap.
#ifndef POWERCUT_CHECKER_ORACLE_HISTORY_H_
#define POWERCUT_CHECKER_ORACLE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/oracle/linearizations.h"
#include "checker/oracle/prefixes.h"
#include "powercut/target.h"
#include "tracer/format/trace.h"

namespace powercut {

// The command by which a buffered target keeps all that was acknowledged when it began (ABI.md).
bool is_sync_command(OpKind kind, std::string_view text);

struct KeyHistory {
  std::string bytes;
  std::optional<uint64_t> id;  // the scenario's key id, when the bytes are one's
  // Every value ever written to this key, in order. Equal short values, and sums, stand once.
  std::vector<std::string> written;
  absl::flat_hash_map<int64_t, int32_t> sums;  // of a counter: index in `written`
  int32_t acknowledged = kAbsent;              // index into `written`, or kAbsent
  // An operation that has not returned, or whose end the power cut of a scenario took: its state is legal as well.
  std::optional<int32_t> possible;
  // Once operations have overlapped: all that is legal, in the place of the two above; and what would be if lookups had
  // answered nothing. None of either: no order of its operations explains their answers.
  std::optional<std::set<int32_t>> legal_states, legal_unread;
  uint64_t version = 0;      // grows with every change of what is legal, by the end of an operation or its beginning
  uint64_t tightenings = 0;  // changes among them that made a legal state illegal

  bool legal(int32_t state) const {
    if (legal_states) return legal_states->contains(state);
    return state == acknowledged || (possible && state == *possible);
  }
  // In the order in which they came to be.
  std::vector<int32_t> all_legal() const;
  // The sum of a counter in a state.
  int64_t sum(int32_t state) const;
  // Only a lookup's answer makes the state illegal: the returned value was not durable.
  bool only_read(int32_t state) const { return legal_unread && !legal(state) && legal_unread->contains(state); }
};

struct OperationInfo {
  uint64_t index = 0;  // 0-based among the trace's operations
  OpKind kind{};
  uint32_t key = 0;  // index of the key; meaningful when has_key
  bool has_key = false;
  std::string text;  // command of kMaintain
  uint32_t thread = 0;
};

// A target's promises that decide what is legal: the traits of these names.
struct Promise {
  bool buffered = false;  // of counters: of each key by itself
  bool counts = false;
  static Promise of(const powercut_traits& traits) { return {traits.buffered != 0, traits.counts != 0}; }
  // Whether all keys together have to be what a beginning of the operations leaves.
  bool of_whole_table() const { return buffered && !counts; }
};

class History {
 public:
  explicit History(Promise promise = {}) : promise_(promise), overlaps_(promise.of_whole_table()) {
    if (overlaps_) prefixes_.emplace();
  }
  void apply(const Event& event);

  const std::vector<KeyHistory>& keys() const { return keys_; }
  // Values are sums.
  bool counts() const { return promise_.counts; }
  // Keys (by index) of which a state that was legal no longer is, in the order in which that came to be. Grows only.
  const std::vector<uint32_t>& tightened() const { return tightened_; }
  std::optional<uint32_t> find(std::string_view key) const;
  bool formatted() const { return formatted_; }
  // For a buffered target: contents that all keys together may have; nothing where these are not known any more. The
  // second function counts how often such contents became illegal.
  const std::optional<Prefixes>& prefixes() const { return prefixes_; }
  const std::optional<std::set<Prefixes::Table>>& legal_tables() const { return legal_tables_; }
  uint64_t table_tightenings() const { return table_tightenings_; }
  // It was not known at some instant.
  bool tables_lost() const { return tables_lost_; }
  // An operation in flight, else the one that ended last.
  const OperationInfo& operation() const { return operation_; }
  bool in_flight() const { return in_flight_; }
  // All operations in flight, in the order in which they began.
  std::vector<OperationInfo> under_way() const;
  // Keys of which no order of the operations explains the answers.
  std::vector<uint32_t> unexplained() const;

  // A power cut, and a second life behind it (life.h): each key goes on with all that is legal at the cut.
  void begin_life();
  // Adds a key that no operation has named yet.
  void know(std::string_view key);

  // Where a tree of schedules begins; go_back() returns there as often as it is called.
  void keep();
  void go_back();
  // A crash point: tells, by tightened(), of states that became illegal since the crash point before. With one thread,
  // apply() tells at once.
  void settle();
  uint64_t operations() const { return operations_; }

 private:
  // A key whose operations may overlap.
  struct Overlapping {
    Linearizations all, unread;
  };
  struct Running {
    OperationInfo operation;
    std::optional<uint32_t> in_all, in_unread;  // its numbers there
    std::optional<uint32_t> in_prefixes;
  };
  // The part of a key that go_back() restores.
  struct Legal {
    int32_t acknowledged;
    std::optional<int32_t> possible;
    std::optional<std::set<int32_t>> states, unread;
    std::optional<Overlapping> overlapping;
  };
  struct Kept {
    OperationInfo operation;
    uint64_t operations;
    absl::flat_hash_map<uint32_t, Legal> keys;  // those that have changed since
    std::optional<Prefixes> prefixes;
  };

  // A counter. Values are sums.
  struct Counter {
    std::vector<int64_t> now = {0};  // its sums while the power is on: one, unless a cut left several open
    std::vector<int64_t> next;       // the same once the operation under way has happened
    std::vector<int32_t> added;      // states that are legal because of that operation
  };

  uint32_t key_of(const Event& event);
  // counters.cc
  void apply_counting(const Event& event);
  void cut_counting();
  void begin_counting(const Event& event);
  void end_counting(const Event& event);
  void add_counter(uint32_t number);
  int32_t state_of_sum(uint32_t number, int64_t sum);
  std::set<int32_t> states_of(uint32_t number, const std::vector<int64_t>& sums);
  void make_legal(uint32_t number, std::set<int32_t> states);
  void begin(const Event& event);
  void end(const Event& event);
  void apply_alone(const Event& event);
  // From here on operations may overlap.
  void overlap();
  void apply_overlapping(const Event& event);
  void cut_overlapping();
  // `value`: the number of what an insert or update writes, or the difference of an increment.
  void begin_overlapping(Running* running, Linearizations::State value);
  std::set<int32_t> numbers_of(uint32_t key, const std::set<Linearizations::State>& states);
  void end_overlapping(const Running& running, const Event& event);
  Overlapping& overlapping(uint32_t key);
  void changed(uint32_t key);
  void prefixes_changed();
  // The state that a write leads to. Values of the recorder differ in their first eight bytes, so only a shorter value
  // may stand in the key's history already: equal values are one state, or an answer would be held against the wrong
  // write.
  int32_t state_of_write(KeyHistory* key, std::span<const uint8_t> value);
  int32_t number_of(KeyHistory* key, std::span<const uint8_t> value);

  Promise promise_;
  std::vector<Counter> counters_;  // by key
  std::set<uint32_t> unsynced_;    // counters that changed since the last sync
  int64_t delta_ = 0;              // of the increment under way, as long as no operations overlap
  std::vector<KeyHistory> keys_;
  std::vector<uint32_t> tightened_;
  absl::flat_hash_map<std::string, uint32_t> index_;
  OperationInfo operation_;
  int32_t written_state_ = kAbsent;  // of the insert or update that `operation_` is
  bool in_flight_ = false;
  bool formatted_ = false;
  uint64_t operations_ = 0;

  bool overlaps_;
  std::map<uint32_t, Running> running_;  // by thread
  absl::flat_hash_map<uint32_t, Overlapping> overlapping_;
  std::map<uint32_t, std::vector<int32_t>> settled_;  // of keys that have changed: what was legal at the last settle()
  std::optional<Kept> kept_;

  std::optional<Prefixes> prefixes_;
  std::optional<std::set<Prefixes::Table>> legal_tables_ = std::set<Prefixes::Table>{{}};
  std::optional<std::set<Prefixes::Table>> settled_tables_ = legal_tables_;  // at the last settle()
  uint64_t table_tightenings_ = 0;
  bool tables_lost_ = false;
};

// The sum that these bytes stand for; nothing when they are no 8. And the way back.
std::optional<int64_t> sum_of(std::string_view bytes);
std::string bytes_of_sum(int64_t sum);

std::string name_of(const KeyHistory& key);          // "17", "zeros", "ones", or its bytes
std::string describe_value(std::string_view bytes);  // "0x2a…", at most 16 bytes

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_HISTORY_H_
