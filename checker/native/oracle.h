// The Subject of exploration: opens the target on a crash image, asks the queries, judges the answers.
//
// A violation is reported once: neither again for the same answer under the same obligation (an item that is
// gone stays gone at later crash points), nor as not-idempotent when the same thing goes wrong after one cut
// already, nor by a second query about a key that a lookup has found wrong at the same leaf.
#ifndef POWERCUT_CHECKER_NATIVE_ORACLE_H_
#define POWERCUT_CHECKER_NATIVE_ORACLE_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "checker/native/invariants.h"
#include "checker/native/target_library.h"
#include "checker/native/trace_walk.h"
#include "replayer/explorer.h"

namespace powercut {

// A violation with the image that shows it.
struct Exposure {
  Violation violation;  // invariant "not-idempotent" when depth > 0; `underlying` has the original
  std::string underlying;
  int depth = 0;
  QueryId query = kRecoveryQuery;
  Outcome outcome;  // kReturned unless the execution was stopped
  Image image;
};

class Oracle final : public Subject {
 public:
  using Report = std::function<void(const Exposure&)>;
  Oracle(const powercut_target& target, const TargetConfig& config, const powercut_traits& traits, powercut_pool pool,
         const History* history, Report report);

  void recover(ResultBuffer* result) override;
  bool usable() const override { return usable_; }
  const std::vector<QueryId>& queries(uint64_t* version) override;
  uint64_t context() const override { return reinterpret_cast<uint64_t>(table_); }
  const std::vector<QueryId>& obliged() override;
  bool wants_all() const override { return collecting_; }
  void run(QueryId query, ResultBuffer* result) override;
  Judgement recovered(int depth, const Outcome& outcome, std::string_view result) override;
  Judgement answered(int depth, QueryId query, std::string_view result) override;
  void explained(int depth, QueryId query, std::string_view result, const Outcome* outcome,
                 const Image& image) override;

  // Collects every distinct (depth, query, result) of a crash point, for comparing strategies.
  void collect(bool on) { collecting_ = on; }
  std::set<std::string> take_collected() { return std::move(collected_); }
  // Forgets what was reported, so that work can be split at fixed places with the same outcome.
  void forget();

 private:
  Judgement weigh(int depth, QueryId query, std::string_view result, std::optional<Violation> violation);
  std::string first_key(const Violation& violation, int depth, QueryId query) const;

  const powercut_target& target_;
  const TargetConfig& config_;
  const powercut_traits& traits_;
  const powercut_pool pool_;
  const History* history_;
  Report report_;
  std::string probe_one_, probe_two_;

  powercut_table* table_ = nullptr;
  bool usable_ = false;
  uint64_t regions_ = 0;

  std::vector<QueryId> queries_;
  size_t queries_keys_ = ~size_t{0};
  uint64_t queries_regions_ = ~uint64_t{0};
  uint64_t queries_version_ = 0;

  // Per key: the version of its obligation that was judged, and the regions whose walks showed it.
  std::vector<uint64_t> judged_;
  std::vector<std::set<uint64_t>> shown_in_;
  std::vector<QueryId> obliged_;

  Violation pending_;                                    // what the explorer is about to explain
  absl::flat_hash_set<std::string> reported_;            // answer under obligation
  absl::flat_hash_map<std::string, int> explained_;      // kind of violation -> images asked for
  absl::flat_hash_set<std::string> seen_after_one_cut_;  // kinds of violation at depth 0
  absl::flat_hash_set<uint32_t> wrong_keys_;             // of the leaf at hand
  bool collecting_ = false;
  std::set<std::string> collected_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_ORACLE_H_
