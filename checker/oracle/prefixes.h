// Contents that a whole table may have after a power cut, where its target is buffered (powercut_traits): the last
// acknowledged operations may be lost, but none that came before an operation that is kept.
//
// Buffered durable linearizability (Izraelevitz, Mendes and Scott, DISC 2016): some order explains all answers of the
// operations, and the table holds what a beginning of that order leaves. A `sync` that has ended stands within the
// beginning: operations that had ended when it began are kept. This does not split by key, since a beginning cuts all
// keys at one instant.
//
// As with Linearizations, orders are not enumerated. A configuration here also has the contents that the power cut
// would keep. One thread has as many as it has made changes since its last sync.
#ifndef POWERCUT_CHECKER_ORACLE_PREFIXES_H_
#define POWERCUT_CHECKER_ORACLE_PREFIXES_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "checker/oracle/linearizations.h"

namespace powercut {

class Prefixes {
 public:
  using Answer = Linearizations::Answer;
  // By key: a value's number, or kAbsent. Keys past the table's end are absent, and the last key is not.
  using Table = std::vector<int32_t>;
  // Most keys that all configurations may hold together; beyond it they are not followed. One thread reaches this
  // number with some 400 new keys since a sync, after half a second. The cost grows with the third power.
  static constexpr size_t kMostKeys = 200'000;

  // An operation begins; an insert or update writes `value`. Returns the operation's number until its end.
  uint32_t begin(OpKind kind, uint32_t key, int32_t value = kAbsent);
  uint32_t begin_sync();
  // The operation has ended. OK, NOT_FOUND and EXISTS tell of what it found; any other status, that it changed nothing.
  // For a sync, another status tells that the sync keeps nothing.
  void end(uint32_t number, Answer answer);
  // A power cut: the table goes on with what is kept.
  void cut();

  // Contents that the table may have if the power is cut now; nothing if there are too many ways to tell, now or
  // before.
  std::optional<std::set<Table>> tables() const;
  // Values that the key may hold as long as the power is on.
  std::set<int32_t> held(uint32_t key) const;
  static int32_t state_in(const Table& table, uint32_t key) { return key < table.size() ? table[key] : kAbsent; }
  // Digest of all that later answers depend on.
  uint64_t digest() const;
  // Replaces the numbers of values by those of `value_of`.
  void renumber(const std::function<int32_t(uint32_t key, int32_t value)>& value_of);

 private:
  struct Operation {
    OpKind kind;
    uint32_t key;
    int32_t value;
    bool is_sync = false;
  };
  struct Configuration {
    Table now, kept;
    std::vector<std::optional<Answer>> owed;  // by number, of operations that have had their effect
    uint64_t before = 0;                      // syncs under way that began after what is kept, by number as bits
    auto operator<=>(const Configuration&) const = default;
  };

  uint32_t begin(const Operation& operation);
  // Nothing where they hold too much.
  std::optional<std::set<Configuration>> reached() const;
  void replace(std::optional<std::set<Configuration>> configurations);

  std::vector<std::optional<Operation>> under_way_;  // by number
  std::set<Configuration> configurations_ = {{}};
  bool overflowed_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_PREFIXES_H_
