// The answers that the operations of the threads may still give, and the contents that a power cut may leave of their
// keys. Both belong to the current state of a search. Everything that depends on the state is one shared, constant
// value, which a search keeps and gives back. Answers are judged by linearizability (linearizations.h), and by prefixes
// where the target is buffered (prefixes.h).
#ifndef POWERCUT_CHECKER_SCHEDULES_OPERATION_ANSWERS_H_
#define POWERCUT_CHECKER_SCHEDULES_OPERATION_ANSWERS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/oracle/linearizations.h"
#include "checker/oracle/prefixes.h"
#include "checker/schedules/thread_work.h"
#include "powercut/target.h"

namespace powercut {

class OperationAnswers {
 public:
  struct Keys;
  using State = std::shared_ptr<const Keys>;

  // `work` outlives this.
  OperationAnswers(const ThreadWork& work, uint32_t threads);

  void begin(uint32_t thread, const ThreadOperation& operation);
  // Notes that the thread's operation has ended. `found`: the value that a lookup has found. False: no order of the
  // operations explains the answer.
  bool end(uint32_t thread, const ThreadOperation& operation, powercut_status status,
           const std::optional<std::string>& found);

  const State& state() const { return keys_; }
  void restore(const State& state) { keys_ = state; }
  // A digest of everything that later answers depend on.
  uint64_t digest() const;
  // A digest of the contents that a power cut may leave.
  uint64_t legal() const;
  // Why some legal answers are not followed; empty where all are.
  const std::string& doubt() const { return doubt_; }

 private:
  struct Key;
  int32_t number_of(std::string value);
  Key* key_of(Keys* keys, const ThreadOperation& operation);
  uint32_t number_of_key(const ThreadOperation& operation);
  void prefixes_changed(Keys* keys);
  static uint64_t digest_of(const Keys& keys);

  const ThreadWork& work_;
  State keys_;
  std::string doubt_;
  absl::flat_hash_map<std::string, int32_t> value_numbers_;
  absl::flat_hash_map<uint64_t, uint32_t> key_numbers_;  // of keys that the history does not know yet, by id
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_OPERATION_ANSWERS_H_
