// A second life: behind the recovery of a crash state the program works on, and the power fails once more.
//
// A Life is what is known at one instant of it: which operations the program has begun and finished since the cut, and
// which states of each key are legal if the power fails there. It begins with what was legal at the first cut. All
// operations that the cut interrupted stay open then, since nobody has looked; an answer of the continuation settles
// those that it tells of, and stays so: the table has made up its mind (ORACLE.md, "Second lives").
#ifndef POWERCUT_CHECKER_ORACLE_LIFE_H_
#define POWERCUT_CHECKER_ORACLE_LIFE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/oracle/history.h"
#include "replayer/explorer/explorer.h"
#include "tracer/record/target_library.h"

namespace powercut {

class Life final : public LifeInstant {
 public:
  struct Step {
    OpKind kind{};
    std::string key, value;  // value: of an increment, its difference
  };

  // The target, and its configuration, which outlive every instant.
  struct Program {
    const powercut_target& target;
    const TargetConfig& config;
  };

  // Begins where the cut that `history` stands at has been recovered from.
  static std::shared_ptr<const Life> begin(const Program& program, const History& history);
  // The instant at which the next operation has begun; null: there is no further one.
  std::shared_ptr<const Life> step_begun() const;
  // The instant at which the operation under way has returned with this result; null: it did not return, or with an
  // answer that nothing explains, which `trouble` says then.
  std::shared_ptr<const Life> step_ended(const Outcome& outcome, std::string_view result, std::string* trouble) const;
  // [target] Runs the operation under way, and puts its status into `out`; behind a lookup's the value.
  void run(powercut_table* table, ResultBuffer* out) const;

  const History& history() const { return history_; }
  // "lookup(3)", for each operation that has begun.
  const std::vector<std::string>& operations() const { return operations_; }
  bool in_flight() const { return under_way_.has_value(); }
  // A digest of the states of the key that are legal here.
  uint64_t legal_digest(uint32_t key) const { return legal_digests_[key]; }

  // The new key of every continuation.
  static constexpr uint64_t kNewKey = (uint64_t{1} << 33) - 1;

 private:
  // The operations of a continuation, in their order: each has a number from 0.
  static constexpr uint32_t kSteps = 5;

  Life(const Program& program, History history) : program_(program), history_(std::move(history)) {}
  std::optional<Step> step(uint32_t number) const;
  void settle();
  void apply(EventKind kind, uint8_t code, const Step& step, std::string_view value);

  Program program_;
  History history_;
  std::string first_, there_, new_;  // keys: of the operation at the cut, one that was there, one that was not
  uint32_t next_ = 0;
  std::optional<Step> under_way_;
  std::vector<std::string> operations_;
  std::vector<uint64_t> legal_digests_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_LIFE_H_
