#include "replayer/explorer.h"

#include <algorithm>

#include "absl/strings/string_view.h"

namespace powercut {

void put_failure(const Outcome& outcome, ResultBuffer* buffer) {
  buffer->clear();
  buffer->put_byte('!');
  buffer->put_byte(static_cast<uint8_t>(outcome.kind));
  buffer->put_byte(static_cast<uint8_t>(outcome.signal));
}

void ResultBuffer::put(const void* data, size_t size) {
  if (size_ + size > bytes_.size()) {
    overflow_ = true;
    return;
  }
  std::memcpy(bytes_.data() + size_, data, size);
  size_ += size;
}

Explorer::Explorer(Executor* executor, Strategy* strategy, Subject* subject, const Options& options)
    : executor_(executor), strategy_(strategy), subject_(subject), options_(options), memory_(executor) {}

BigInt Explorer::crash_point(const LineSets& pending, const std::vector<uint64_t>& changed, uint64_t ordinal) {
  memory_.trace_changed(changed);
  BigInt covered = 0;
  level(0, pending, ordinal, {}, &covered);
  return covered;
}

void Explorer::level(int depth, const LineSets& sets, uint64_t ordinal, Image::Nested nested, BigInt* covered) {
  const BigInt count = strategy_->visit(sets, ordinal, [&](const LineSets& start) {
    if (!distrust_.empty()) return;
    frames_.push_back({start, {}, nested});
    executor_->install(start);
    search(depth, ordinal);
    executor_->uninstall();
    frames_.pop_back();
  });
  if (covered != nullptr) *covered = count;
}

// Depth-first over recovery's decisions.
void Explorer::search(int depth, uint64_t ordinal) {
  Decisions decisions;
  std::vector<Cut> cuts;
  const Executor::Mark start = executor_->mark();
  const uint64_t before = options_.paranoid ? executor_->digest() : 0;
  do {
    cuts.clear();
    buffer_.clear();
    executor_->begin_reads(start);
    const Outcome outcome = executor_->run_recovery(&decisions, depth < options_.nested ? &cuts : nullptr,
                                                    [&] { subject_->recover(&buffer_); });
    ++counts_.executions;
    counts_.leaves.insert(executor_->path());
    if (!outcome.returned()) put_failure(outcome, &buffer_);
    const std::string result(buffer_.view());
    if (subject_->recovered(depth, outcome, result) == Subject::Judgement::kExplain) {
      subject_->explained(depth, kRecoveryQuery, result, outcome.returned() ? nullptr : &outcome, image());
    }
    if (outcome.returned()) {
      if (subject_->usable()) ask_all(depth);
      if (depth < options_.nested) {
        if (auto cut = executor_->cut_after_recovery()) cuts.push_back(std::move(*cut));
      }
    }
    const std::vector<Executor::NestedStore> stores =
        cuts.empty() ? std::vector<Executor::NestedStore>{} : executor_->recovery_stores();
    executor_->undo(start);
    if (options_.paranoid) check_reset(before, "recovery");
    for (Cut& cut : cuts) {
      const std::vector<LineSet> lines = executor_->child(cut);
      LineSets sets;
      for (const LineSet& line : lines) sets.push_back(&line);
      frames_.back().alive_at_cut = std::move(cut.alive);
      level(depth + 1, sets, ordinal,
            {cut.stores_seen,
             cut.after_return,
             {stores.begin(), stores.begin() + static_cast<ptrdiff_t>(cut.stores_seen)}},
            nullptr);
    }
    if (!distrust_.empty()) return;
  } while (decisions.advance());
}

void Explorer::ask_all(int depth) {
  const Executor::Mark leaf = executor_->mark();
  const uint64_t before = options_.paranoid ? executor_->digest() : 0;
  uint64_t version = 0;
  const std::vector<QueryId>& listed = subject_->queries(&version);
  counts_.query_answers += listed.size();
  if (!options_.remember || !strategy_->remembers()) {
    for (QueryId query : listed) {
      judge(depth, query, run_all(query, leaf), leaf);
      if (options_.paranoid) check_reset(before, "a query");
      if (!distrust_.empty()) return;
    }
    return;
  }
  const std::vector<QueryId> affected = memory_.begin_leaf(listed, version, subject_->context());
  std::vector<QueryId> to_judge = affected;
  for (QueryId query : affected) {
    if (memory_.recall(query) != nullptr) continue;
    memory_.remember(query, run_all(query, leaf));
    if (options_.paranoid) check_reset(before, "a query");
    if (!distrust_.empty()) return;
  }
  if (subject_->wants_all()) {
    to_judge = listed;
  } else {
    const std::vector<QueryId>& obliged = subject_->obliged();
    to_judge.insert(to_judge.end(), obliged.begin(), obliged.end());
    std::sort(to_judge.begin(), to_judge.end());
    to_judge.erase(std::unique(to_judge.begin(), to_judge.end()), to_judge.end());
  }
  for (QueryId query : to_judge) {
    if (const std::vector<ResultId>* results = memory_.last(query)) judge(depth, query, *results, leaf);
  }
}

void Explorer::judge(int depth, QueryId query, const std::vector<ResultId>& results, const Executor::Mark& leaf) {
  bool good = true;
  for (ResultId id : results) {
    const Subject::Judgement judgement = subject_->answered(depth, query, results_[id]);
    good = good && judgement == Subject::Judgement::kGood;
    if (judgement == Subject::Judgement::kExplain) explain(depth, query, id, leaf);
  }
  memory_.watch(query, !good);
}

std::vector<ResultId> Explorer::run_all(QueryId query, const Executor::Mark& leaf) {
  std::vector<ResultId> results;
  executor_->begin_reads(leaf);
  Decisions decisions;
  do {
    const ResultId id = run_query(query, &decisions, nullptr);
    if (std::find(results.begin(), results.end(), id) == results.end()) results.push_back(id);
    executor_->undo(leaf);
  } while (decisions.advance());
  return results;
}

ResultId Explorer::run_query(QueryId query, Decisions* decisions, Outcome* outcome) {
  buffer_.clear();
  ++counts_.query_runs;
  Outcome ended = executor_->run(decisions, [&] { subject_->run(query, &buffer_); });
  if (!ended.returned()) put_failure(ended, &buffer_);
  if (outcome != nullptr) *outcome = std::move(ended);
  return intern(buffer_.view());
}

// Finds the branch that gives `wanted` again and reports the image that leads there.
void Explorer::explain(int depth, QueryId query, ResultId wanted, const Executor::Mark& leaf) {
  Decisions decisions;
  do {
    Outcome outcome;
    const ResultId id = run_query(query, &decisions, &outcome);
    if (id == wanted) {
      subject_->explained(depth, query, results_[id], outcome.returned() ? nullptr : &outcome, image());
      executor_->undo(leaf);
      return;
    }
    executor_->undo(leaf);
  } while (decisions.advance());
}

ResultId Explorer::intern(std::string_view result) {
  const auto known = interned_.find(absl::string_view(result.data(), result.size()));
  if (known != interned_.end()) return known->second;
  const auto id = static_cast<ResultId>(results_.size());
  interned_.emplace(std::string(result), id);
  results_.emplace_back(result);
  return id;
}

// Picks, for every line, an alive content with as little lost as possible; a nested level's choice fixes the
// content that its line had at the cut before.
Image Explorer::image() const {
  Image out;
  out.levels.resize(frames_.size());
  absl::flat_hash_map<uint64_t, uint32_t> fixed;  // line -> content index in the frame at hand
  for (size_t f = frames_.size(); f-- > 0;) {
    const Frame& frame = frames_[f];
    if (f > 0) out.nested.insert(out.nested.begin(), frame.nested);
    absl::flat_hash_map<uint64_t, std::vector<uint32_t>> alive;
    if (f + 1 == frames_.size()) {
      for (auto& state : executor_->line_states()) alive[state.set->line] = std::move(state.alive);
    } else {
      size_t k = 0;
      for (const LineSet* set : frame.sets) {
        if (set->contents.size() > 1 && k < frame.alive_at_cut.size()) alive[set->line] = frame.alive_at_cut[k++];
      }
    }
    absl::flat_hash_map<uint64_t, uint32_t> parents;
    for (const LineSet* set : frame.sets) {
      uint32_t index = 0;
      const auto a = alive.find(set->line);
      if (const auto given = fixed.find(set->line); given != fixed.end()) {
        index = given->second;
      } else if (a != alive.end()) {
        index = std::find(a->second.begin(), a->second.end(), set->visible) != a->second.end() ? set->visible
                                                                                               : a->second.back();
      }
      const bool decided = a != alive.end() && a->second.size() != set->contents.size();
      out.levels[f].push_back({set->line, set->contents[index], static_cast<uint32_t>(set->contents.size()), decided});
      if (!set->base.empty()) parents[set->line] = set->base[index];
    }
    fixed = std::move(parents);
  }
  return out;
}

void Explorer::check_reset(uint64_t before, const char* what) {
  if (executor_->digest() == before) return;
  distrust_ = std::string("the state after undoing ") + what +
              " differs from the state before: code that is not instrumented wrote to pool, heap or globals";
}

}  // namespace powercut
