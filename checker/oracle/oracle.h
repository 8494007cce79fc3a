// The Subject of exploration: opens the target on a crash image, asks the queries, judges the answers.
//
// A violation is reported once. It is not reported again for an equal answer under the same obligation, or a wider one:
// an item that is gone stays gone at later crash points. Nor is it reported as not-idempotent when the same thing goes
// wrong after one cut already. Which answers these are does not depend on how an exploration came to them: every way
// meets each answer that is wrong at the same crash point for the first time.
#ifndef POWERCUT_CHECKER_ORACLE_ORACLE_H_
#define POWERCUT_CHECKER_ORACLE_ORACLE_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "checker/oracle/history.h"
#include "checker/oracle/invariants.h"
#include "checker/oracle/life.h"
#include "checker/oracle/new_keys.h"
#include "replayer/explorer/explorer.h"
#include "tracer/record/target_library.h"

namespace powercut {

// A violation with the image that shows it.
struct Exposure {
  Violation violation;  // invariant "not-idempotent" when depth > 0; `underlying` has the original
  std::string underlying;
  int depth = 0;
  QueryId query = kRecoveryQuery;
  Outcome outcome;  // kReturned unless the execution was stopped
  Image image;
  std::string result = {};                     // the wrong answer,
  uint64_t died_at = 0;                        // and of recovery where it died, as of died_at()
  bool asked = true;                           // false: by no query, a schedule of threads went wrong by itself
  bool needs_power_cut = true;                 // false: the same goes wrong when nothing is lost (functional_check.h)
  std::shared_ptr<const Life> life = nullptr;  // of a second life: what is known where the power fails again
};

// The address of the instruction at which recovery died; 0 for every other ending. Two crashes in two places are two
// findings.
uint64_t died_at(const Outcome& outcome);

class Oracle final : public Subject {
 public:
  using Report = std::function<void(const Exposure&)>;
  Oracle(const powercut_target& target, const TargetConfig& config, const powercut_traits& traits, powercut_pool pool,
         const History* history, Report report);

  // While a query waits, these threads of the open table work; null: it has none.
  void set_background(const powercut_background* background) { background_ = background; }

  // Reports the violations of the crash point at hand that are to be told, in an order of their own; call it when the
  // crash point is explored. Beyond the first ones of a kind they come without an image. `new_kinds_alone`: those of
  // which nothing was told yet, one of each.
  void tell(bool new_kinds_alone = false);
  // Whether there are any.
  bool has_met() const { return !exposures_.empty(); }

  void recover(ResultBuffer* result) override;
  Opened opened() const override { return opened_; }
  void reopen(const Opened& opened) override { opened_ = opened; }
  bool usable() const { return opened_.usable; }
  // Whether the open table has what the query asks about.
  bool can_ask(QueryId query) const;
  // Whether all keys together have to be what a beginning of the operations leaves.
  bool dumps() const { return Promise::of(traits_).of_whole_table(); }
  GroupCounts groups() const override;
  std::span<const QueryId> members(Group group) override;
  const std::vector<Group>& obliged() override;
  bool wants_all() const override { return collecting_; }
  LifePoint life_begins() override { return Life::begin({target_, config_}, *history_); }
  LifePoint step_begun(const LifePoint& at) override { return of(at).step_begun(); }
  void run_step(const LifePoint& at, ResultBuffer* result) override { of(at).run(table(), result); }
  LifePoint step_ended(const LifePoint& at, const Outcome& outcome, std::string_view result,
                       std::string* trouble) override {
    return of(at).step_ended(outcome, result, trouble);
  }
  void judge_at(const LifePoint& at) override;
  bool has_answered_badly() const override { return !bad_invariants_.empty(); }
  void run(QueryId query, ResultBuffer* result) override;
  void ended(QueryId query, const Outcome& outcome, ResultBuffer* result) override;
  std::string_view undisturbed() const override { return NewKeys::kUndisturbed; }
  void noticed(size_t before, ResultBuffer* answers) const override;
  Judgement recovered(int depth, const Outcome& outcome, std::string_view result) override;
  Judgement answered(int depth, QueryId query, std::string_view result) override;
  void explained(int depth, QueryId query, std::string_view result, const Outcome* outcome,
                 const Image& image) override;

  // Collects every distinct (depth, query, result) of a crash point, for comparing strategies. Call it before the
  // explorer is made.
  void collect(bool on) { collecting_ = on; }
  std::set<std::string> take_collected() { return std::move(collected_); }
  // Collects every distinct violation of the run as (after one cut or more, query, obligation, result).
  void collect_violations(bool on) { collecting_violations_ = on; }
  const std::set<std::string>& violations() const { return violations_; }

  // The most copies of one key that any recovered state held, and whose they are; the most blocks that nothing reaches.
  //
  // They are the most over all crash states. The explorer asks `copies` wherever it can answer something that it has
  // not answered in this run (leaf_queries.h). Every answer comes by here, good or bad.
  struct Most {
    uint64_t copies = 0, leaks = 0;
    uint32_t key = 0;  // of `copies`
    bool asked_copies = false, asked_leaks = false;
  };
  const Most& most() const { return most_; }

 private:
  static const Life& of(const LifePoint& at) { return static_cast<const Life&>(*at); }
  static bool work_beside_query(void* self);
  void oblige(uint32_t key);
  void sift();
  void note_most(QueryId query, std::string_view result);
  // `died_at`: as of died_at().
  Judgement weigh(int depth, QueryId query, std::string_view result, std::optional<Violation> violation,
                  uint64_t died_at = 0);
  std::string kind_key(const Violation& violation, int depth, QueryId query, bool second_life) const;
  std::string kind_key(const Exposure& exposure) const {
    return kind_key(exposure.violation, exposure.depth, exposure.query, exposure.life != nullptr);
  }

  const powercut_target& target_;
  const TargetConfig& config_;
  const powercut_traits& traits_;
  const powercut_pool pool_;
  const History* history_;             // that answers are judged by
  const History* first_history_;       // of the trace
  std::shared_ptr<const Life> life_;   // null: answers are judged by the trace's history
  std::vector<uint64_t> life_judged_;  // per key: what was legal at the last instant of a second life that was judged
  std::set<std::string> bad_invariants_;  // of the first life
  const powercut_background* background_ = nullptr;
  Report report_;
  std::string probe_one_, probe_two_;
  NewKeys new_keys_;

  powercut_table* table() const { return reinterpret_cast<powercut_table*>(opened_.table); }

  Opened opened_;
  std::vector<QueryId> members_;
  size_t tightened_ = 0;  // of the history's, how many were handed on
  uint64_t table_tightenings_ = 0;
  std::vector<std::vector<uint32_t>> shown_in_;  // per key: the regions whose walks showed it
  std::vector<Group> obliged_;

  // Exposures that are kept before those are dropped that will not be told of.
  static constexpr size_t kLeastSifted = 4096;
  size_t next_sifting_ = kLeastSifted;
  std::vector<Exposure> exposures_;  // of the crash point at hand; the last may wait for its image
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> reported_;  // names of answers under obligation
  absl::flat_hash_map<std::string, int> images_;                 // kind of violation -> images asked for
  absl::flat_hash_map<std::string, int> told_;                   // kind of violation -> exposures handed over
  absl::flat_hash_set<std::string> seen_after_one_cut_;          // kinds of violation at depth 0
  Most most_;
  bool collecting_ = false;
  std::set<std::string> collected_;
  bool collecting_violations_ = false;
  std::set<std::string> violations_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_ORACLE_H_
