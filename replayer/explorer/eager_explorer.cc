// The reference explorer. It runs every crash state that the strategy names, again at every crash point, with every
// query on every recovered state. It remembers nothing. This explorer is slow and obvious; tests compare the trie
// explorer with it.
#include <algorithm>
#include <bit>
#include <utility>

#include "replayer/explorer/explorer.h"
#include "replayer/explorer/life_walk.h"
#include "tracer/world/virtual_world.h"

namespace powercut {
namespace {

class EagerExplorer final : public Explorer {
 public:
  EagerExplorer(Executor* executor, Strategy* strategy, Subject* subject, const Options& options)
      : executor_(executor), strategy_(strategy), subject_(subject), options_(options), lives_(executor, subject) {}

  BigInt crash_point(const Frontier& frontier, const std::vector<Frontier::Change>&, uint64_t ordinal) override {
    if (options_.obligations) subject_->obliged();
    life_begins_ = options_.lives > 1 ? subject_->life_begins() : nullptr;
    BigInt covered = 0;
    level(0, frontier.sets(), ordinal, {}, &covered);
    return covered;
  }
  void forget() override {}

 private:
  void level(int depth, const LineSets& sets, uint64_t ordinal, const Image::Nested& nested, BigInt* covered) {
    const BigInt count = strategy_->visit(sets, ordinal, [&](const LineSets& start) {
      if (!distrust_.empty() || executor_->stopped()) return;
      cuts_.push(start, nested);
      executor_->memory().install(start);
      search(depth, ordinal);
      executor_->memory().uninstall();
      cuts_.pop();
    });
    if (covered != nullptr) *covered = count;
  }

  // Depth-first over recovery's decisions: none where the strategy names concrete images.
  void search(int depth, uint64_t ordinal) {
    Decisions decisions;
    std::vector<Cut> cuts;
    std::vector<LifeCut> life_cuts;
    const UndecidedMemory::Mark start = executor_->memory().mark();
    const uint64_t before = options_.paranoid ? executor_->memory().digest() : 0;
    do {
      cuts.clear();
      life_cuts.clear();
      buffer_.clear();
      executor_->reads().begin(start.arena);
      Outcome outcome = executor_->run_recovery(&decisions, cuts_recovery(depth) ? &cuts : nullptr,
                                                [&] { subject_->recover(&buffer_); });
      ++counts_.executions;
      counts_.leaves.insert(executor_->recovery().path());
      finish_answer(executor_, &outcome, &buffer_);
      const std::string result(buffer_.view());
      if (subject_->recovered(depth, outcome, result) == Subject::Judgement::kExplain) {
        subject_->explained(depth, kRecoveryQuery, result, outcome.returned() ? nullptr : &outcome,
                            cuts_.image(*executor_));
      }
      if (outcome.returned()) {
        if (subject_->opened().usable) ask_all(depth);
        if (cuts_recovery(depth)) {
          if (auto cut = executor_->recovery().cut_after()) cuts.push_back(std::move(*cut));
        }
      }
      const std::vector<NestedStore> stores =
          cuts.empty() ? std::vector<NestedStore>{} : executor_->recovery().stores();
      if (depth == 0 && !in_life_ && life_begins_ != nullptr && outcome.returned() && subject_->opened().usable &&
          !subject_->has_answered_badly()) {
        ++counts_.lives;
        ++counts_.new_lives;
        const NestedCuts stored = executor_->recovery().nested();  // the walk goes on from a copy
        lives_.walk(life_begins_, start, stored, &life_cuts);
      }
      executor_->memory().undo(start);
      if (options_.paranoid) check_reset(*executor_, before, "recovery");
      const uint32_t sources = std::exchange(virtual_world.used, 0);
      if (outcome.kind != Outcome::Kind::kUnknown && (sources != 0 || std::has_single_bit(counts_.executions))) {
        run_again(decisions, result, start, sources);
      }
      for (const Cut& cut : cuts) {
        const std::vector<LineSet> lines = executor_->memory().child(cut);
        level(depth + 1, sets_of(lines), ordinal, nested_of(cut, stores), nullptr);
      }
      for (const LifeCut& cut : life_cuts) {
        const std::vector<LineSet> lines = executor_->memory().child(cut.cut);
        subject_->judge_at(cut.at);
        in_life_ = true;
        level(1, sets_of(lines), ordinal, nested_of(cut.cut, *cut.stores), nullptr);
        in_life_ = false;
        subject_->judge_at(nullptr);
      }
      if (!distrust_.empty() || executor_->stopped()) return;
    } while (decisions.advance());
  }

  bool cuts_recovery(int depth) const { return !in_life_ && depth < options_.nested; }

  // Runs recovery once more, in another world (second_run.h); this reference runs a sample.
  void run_again(Decisions decisions, const std::string& first, const UndecidedMemory::Mark& start, uint32_t sources) {
    const uint64_t path = executor_->recovery().path();
    buffer_.clear();
    executor_->reads().begin(start.arena);  // this run's reads are counted separately
    executor_->runner().set_variant(counts_.executions);
    Outcome outcome = executor_->run_recovery(&decisions, nullptr, [this] { subject_->recover(&buffer_); });
    executor_->runner().set_variant(0);
    finish_answer(executor_, &outcome, &buffer_);
    executor_->memory().undo(start);
    sources |= std::exchange(virtual_world.used, 0);
    executor_->runner().note_sources(sources);
    if (outcome.kind == Outcome::Kind::kUnknown || (buffer_.view() == first && executor_->recovery().path() == path))
      return;
    executor_->runner().doubt(
        "recovery is not a function of the image: it ran twice on the same one, and did not do the same" +
        (sources == 0 ? "" : "; it asks for " + names_of_sources(sources)));
  }

  void ask_all(int depth) {
    const UndecidedMemory::Mark leaf = executor_->memory().mark();
    const uint64_t before = options_.paranoid ? executor_->memory().digest() : 0;
    const GroupCounts counts = subject_->groups();
    for (const GroupKind kind : kGroupKinds) {
      for (uint32_t i = 0; i < counts[kind]; ++i) {
        const std::span<const QueryId> members = subject_->members({kind, i});
        for (QueryId query : std::vector<QueryId>(members.begin(), members.end())) {
          ++counts_.query_answers;
          ask(depth, query, leaf);
          if (options_.paranoid) check_reset(*executor_, before, "a query");
          if (!distrust_.empty() || executor_->stopped()) return;
        }
      }
    }
  }

  void ask(int depth, QueryId query, const UndecidedMemory::Mark& leaf) {
    absl::flat_hash_set<std::string> results;
    executor_->reads().begin(leaf.arena);
    Decisions decisions;
    do {
      buffer_.clear();
      ++counts_.query_runs;
      Outcome outcome = executor_->run(&decisions, [&] { subject_->run(query, &buffer_); });
      finish_answer(executor_, &outcome, &buffer_);
      if (!outcome.returned()) subject_->ended(query, outcome, &buffer_);
      const std::string result(buffer_.view());
      if (results.insert(result).second) {
        if (subject_->answered(depth, query, result) == Subject::Judgement::kExplain) {
          subject_->explained(depth, query, result, outcome.returned() ? nullptr : &outcome, cuts_.image(*executor_));
        }
      }
      executor_->memory().undo(leaf);
    } while (!executor_->stopped() && decisions.advance());
  }

  Executor* executor_;
  Strategy* strategy_;
  Subject* subject_;
  const Options options_;
  CutLevels cuts_;
  LifeWalk lives_;
  Subject::LifePoint life_begins_;  // at the crash point at hand; null: there is no second life
  bool in_life_ = false;            // the level at hand is of a second life
  ResultBuffer buffer_;
};

}  // namespace

std::unique_ptr<Explorer> make_eager_explorer(Executor* executor, Strategy* strategy, Subject* subject,
                                              const Explorer::Options& options) {
  return std::make_unique<EagerExplorer>(executor, strategy, subject, options);
}

}  // namespace powercut
