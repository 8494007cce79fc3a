#include "replayer/explorer.h"

#include <algorithm>

namespace powercut {
namespace {

// Read sets that are kept per query. A handful covers the states that a table alternates between.
constexpr size_t kRememberedStates = 6;

uint64_t word_at(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), 8);
  return word;
}

// A query that did not return is a result too.
void put_failure(const Outcome& outcome, ResultBuffer* buffer) {
  buffer->clear();
  buffer->put("!", 1);
  buffer->put_byte(static_cast<uint8_t>(outcome.kind));
  buffer->put_byte(static_cast<uint8_t>(outcome.signal));
}

}  // namespace

void ResultBuffer::put(const void* data, size_t size) {
  if (size_ + size > bytes_.size()) {
    overflow_ = true;
    return;
  }
  std::memcpy(bytes_.data() + size_, data, size);
  size_ += size;
}

Explorer::Explorer(Executor* executor, Strategy* strategy, Subject* subject, const Options& options)
    : executor_(executor), strategy_(strategy), subject_(subject), options_(options) {}

BigInt Explorer::crash_point(const LineSets& pending, uint64_t ordinal) {
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
    if (subject_->recovered(depth, outcome, result)) {
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
            {cut.stores_seen, cut.after_return, {stores.begin(), stores.begin() + static_cast<ptrdiff_t>(cut.stores_seen)}},
            nullptr);
    }
    if (!distrust_.empty()) return;
  } while (decisions.advance());
}

void Explorer::ask_all(int depth) {
  executor_->new_state();
  const Executor::Mark leaf = executor_->mark();
  const Signature globals = executor_->globals_signature();
  const uint64_t before = options_.paranoid ? executor_->digest() : 0;
  for (QueryId query : subject_->queries()) {
    ask(depth, query, leaf, globals);
    if (options_.paranoid) check_reset(before, "a query");
    if (!distrust_.empty()) return;
  }
}

void Explorer::ask(int depth, QueryId query, const Executor::Mark& leaf, const Signature& globals) {
  ++counts_.query_answers;
  std::vector<ResultId> fresh;
  const std::vector<ResultId>* results = nullptr;
  std::vector<Remembered>& remembered = memory_[query];
  for (size_t i = remembered.size(); i-- > 0 && results == nullptr;) {
    const Remembered& r = remembered[i];
    const bool same =
        r.globals == globals &&
        std::all_of(r.words.begin(), r.words.end(), [](const auto& w) { return word_at(w.first) == w.second; }) &&
        std::all_of(r.lines.begin(), r.lines.end(),
                    [&](const auto& l) { return executor_->signature(l.first) == l.second; });
    if (same) results = &r.results;
  }
  if (results == nullptr) {
    executor_->begin_reads(leaf);
    Decisions decisions;
    do {
      const ResultId id = run_query(query, &decisions, nullptr);
      if (std::find(fresh.begin(), fresh.end(), id) == fresh.end()) fresh.push_back(id);
      executor_->undo(leaf);
    } while (decisions.advance());
    results = &fresh;
    if (options_.remember && strategy_->remembers()) {
      Remembered r{{}, {}, globals, fresh};
      for (uint64_t line : executor_->reads().lines) r.lines.emplace_back(line, executor_->signature(line));
      for (uint64_t address : executor_->reads().words) r.words.emplace_back(address, word_at(address));
      if (remembered.size() == kRememberedStates) remembered.erase(remembered.begin());
      remembered.push_back(std::move(r));
    }
  }
  const std::vector<ResultId> answers = *results;  // explain() may run the query again
  for (ResultId id : answers) {
    if (subject_->answered(depth, query, id, results_[id])) explain(depth, query, id, leaf);
  }
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
  const auto [at, added] = interned_.try_emplace(std::string(result), static_cast<ResultId>(results_.size()));
  if (added) results_.emplace_back(result);
  return at->second;
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
