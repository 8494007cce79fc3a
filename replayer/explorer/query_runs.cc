#include "replayer/explorer/query_runs.h"

#include <bit>
#include <utility>

#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Numbers of worlds for a query that asked for something of the world: in the first such runs of a chunk, and in later
// runs.
constexpr uint64_t kManyWorlds = 16, kSomeWorlds = 2, kRunsInManyWorlds = 8;
// Number of digests of one query's answers that are kept.
constexpr size_t kMostSeen = size_t{1} << 22;

}  // namespace

QueryRuns::QueryRuns(Executor* executor, Subject* subject, ExplorerCounts* counts, Stopwatch* stopwatch,
                     const Options& options, std::function<Image()> image)
    : executor_(executor),
      subject_(subject),
      counts_(counts),
      stopwatch_(stopwatch),
      options_(options),
      image_(std::move(image)),
      body_([this] { subject_->run(query_, &buffer_); }),
      search_(new_search()) {}

void QueryRuns::forget() {
  answers_.clear();
  ran_ = {};
  asking_runs_ = 0;
}

void QueryRuns::narrow(uint64_t line, std::vector<uint32_t> keep) {
  narrowing_ = {line, std::move(keep), leaf_};
  executor_->memory().keep_only(line, narrowing_->keep);
  leaf_ = executor_->memory().mark();
}

void QueryRuns::widen() {
  if (narrowing_) leaf_ = narrowing_->leaf;
  narrowing_.reset();
  executor_->memory().undo(leaf_);
}

QuerySearch QueryRuns::new_search() {
  QuerySearch search(executor_, &buffer_);
  search.merge_after(options_.merge_after);
  return search;
}

bool QueryRuns::search(QuerySearch* search, QueryId query, QuerySearch::Ended ended, uint64_t most) {
  const QueryId before = std::exchange(query_, query);
  const bool complete = search->run(body_, ended, most);
  query_ = before;
  return complete;
}

const std::vector<std::string>* QueryRuns::answers(QueryId query) const {
  const auto known = answers_.find(query);
  return known == answers_.end() ? nullptr : &known->second.all;
}

void QueryRuns::begin_answers(QueryId query, bool anew) {
  if (!options_.exact && !options_.keep_answers) return;
  Answers& answers = answers_[query];
  if (anew) answers = {};
}

// Queries are many. A sample of the queries that ask nothing of the world is run again: of each kind the first, second,
// fourth, eighth and so on. A query that asked for the clock or for randomness is always run again.
void QueryRuns::run_again(const Decisions& decisions, uint64_t digest, uint32_t sources) {
  const uint64_t worlds = sources == 0 ? 1 : asking_runs_++ < kRunsInManyWorlds ? kManyWorlds : kSomeWorlds;
  for (uint64_t world = 1; world <= worlds; ++world) {
    Decisions same = decisions;
    second_buffer_.clear();
    executor_->runner().set_variant(world);
    Outcome outcome = executor_->run(&same, [this] { subject_->run(query_, &second_buffer_); });
    executor_->runner().set_variant(0);
    executor_->memory().undo(leaf_);
    finish_answer(executor_, &outcome, &second_buffer_);
    if (!outcome.returned()) subject_->ended(query_, outcome, &second_buffer_);
    sources |= std::exchange(virtual_world.used, 0);
    const std::string_view answer = second_buffer_.view();
    if (outcome.kind == Outcome::Kind::kUnknown || XXH3_64bits(answer.data(), answer.size()) == digest) continue;
    executor_->runner().doubt(
        "an operation after recovery is not a function of the image. It ran twice on the same one, " +
        (sources == 0 ? "with its heap elsewhere and other bytes in memory that it has not initialised"
                      : "with other values of " + names_of_sources(sources)) +
        ", and gave another answer the second time. A crash state has more results than were looked at");
    return;
  }
  executor_->runner().note_sources(sources);
}

bool QueryRuns::run(QueryId query, int depth, Wake* wake) {
  query_ = query;
  seen_.clear();
  bool good = true;
  const uint64_t before = search_.runs();
  if (wake != nullptr) executor_->writes().begin();
  search_.run(body_, [&](Outcome* outcome, const Decisions* decisions) {
    if (wake != nullptr) wake->add(executor_->writes().left(leaf_));
    stopwatch_->lap(Stopwatch::kQuery);
    finish_answer(executor_, outcome, &buffer_);
    if (!outcome->returned()) subject_->ended(query_, *outcome, &buffer_);
    const uint32_t sources = std::exchange(virtual_world.used, 0);
    const uint64_t digest = XXH3_64bits(buffer_.view().data(), buffer_.view().size());
    // If answers are very many, not all are remembered: judging one again changes nothing.
    if (seen_.size() == kMostSeen) seen_.clear();
    if (seen_.insert(digest).second) good = judge(depth, query, *outcome) && good;
    stopwatch_->lap(Stopwatch::kJudge);
    if (decisions == nullptr) return true;
    executor_->memory().undo(leaf_);
    const bool followed = outcome->kind != Outcome::Kind::kUnknown;
    const bool in_the_sample = std::has_single_bit(++ran_[query >> 56]);
    if (wake != nullptr) executor_->writes().end();
    if (followed && (sources != 0 || in_the_sample)) run_again(*decisions, digest, sources);
    if (wake != nullptr) executor_->writes().begin();
    stopwatch_->lap(Stopwatch::kUndo);
    return true;
  });
  executor_->writes().end();
  counts_->query_runs += search_.runs() - before;
  return good;
}

bool QueryRuns::judge(int depth, QueryId query, const Outcome& outcome) {
  const std::string result(buffer_.view());
  if (options_.exact || options_.keep_answers) answers_[query].add(result);
  if (options_.exact) return true;
  const Subject::Judgement judgement = subject_->answered(depth, query, result);
  if (judgement == Subject::Judgement::kExplain) {
    if (narrowing_) {
      explain_widely(depth, query, result);
    } else {
      subject_->explained(depth, query, result, outcome.returned() ? nullptr : &outcome, image_());
    }
  }
  return judgement == Subject::Judgement::kGood;
}

void QueryRuns::explain(int depth, QueryId query, const std::string& wanted) {
  const QueryId before = std::exchange(query_, query);
  QuerySearch search = new_search();
  search.run(body_, [&](Outcome* outcome, const Decisions*) {
    finish_answer(executor_, outcome, &buffer_);
    if (!outcome->returned()) subject_->ended(query_, *outcome, &buffer_);
    virtual_world.used = 0;
    const bool found = buffer_.view() == wanted;
    if (found) subject_->explained(depth, query, wanted, outcome->returned() ? nullptr : outcome, image_());
    return !found;
  });
  counts_->query_runs += search.runs();
  query_ = before;
}

// Explains without the narrowing: the query did not observe the contents that the narrowing took away, and the image
// must not say that it did.
void QueryRuns::explain_widely(int depth, QueryId query, const std::string& wanted) {
  leaf_ = narrowing_->leaf;
  executor_->memory().undo(leaf_);
  explain(depth, query, wanted);
  executor_->memory().keep_only(narrowing_->line, narrowing_->keep);
  leaf_ = executor_->memory().mark();
}

}  // namespace powercut
