#include "replayer/query_memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace powercut {
namespace {

// Read sets that are kept per query. A handful covers the states that a table alternates between.
constexpr size_t kRunsKept = 6;

uint64_t word_at(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), 8);
  return word;
}

void sort_unique(std::vector<uint64_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

void QueryMemory::forget() {
  states_.clear();
  by_line_.clear();
  by_word_.clear();
  watched_.clear();
  touched_before_.clear();
  from_trace_.clear();
  heap_.clear();
  listed_.clear();
  version_ = 0;
}

void QueryMemory::trace_changed(const std::vector<uint64_t>& lines) {
  from_trace_.insert(from_trace_.end(), lines.begin(), lines.end());
}

const std::vector<QueryId>& QueryMemory::begin_leaf(const std::vector<QueryId>& listed, uint64_t version,
                                                    uint64_t context) {
  affected_.clear();
  std::vector<uint64_t> touched;
  executor_->append_touched(&touched);
  sort_unique(&touched);
  std::vector<uint64_t> changed = std::move(from_trace_);
  from_trace_.clear();
  changed.insert(changed.end(), touched.begin(), touched.end());
  changed.insert(changed.end(), touched_before_.begin(), touched_before_.end());
  touched_before_ = std::move(touched);
  sort_unique(&changed);

  const std::span<const uint8_t> heap = executor_->heap();
  const Signature globals = executor_->globals_signature();
  const bool all = context != context_ || !(globals == globals_) || heap.size() != heap_.size();
  if (version != version_) {
    // Both lists ascend. A query that was not in the list has to be asked: nobody watched its read set since.
    std::set_difference(listed.begin(), listed.end(), listed_.begin(), listed_.end(), std::back_inserter(affected_));
    for (QueryId query : affected_) states_[query].listed = true;
    std::vector<QueryId> gone;
    std::set_difference(listed_.begin(), listed_.end(), listed.begin(), listed.end(), std::back_inserter(gone));
    for (QueryId query : gone) states_[query].listed = false;
    listed_ = listed;
    version_ = version;
  }
  const auto add = [this](const absl::flat_hash_set<QueryId>& queries) {
    for (QueryId query : queries) {
      if (states_[query].listed) affected_.push_back(query);
    }
  };
  if (all) affected_ = listed;
  if (!all) {
    for (uint64_t line : changed) {
      if (const auto at = by_line_.find(line); at != by_line_.end()) add(at->second);
    }
    if (std::memcmp(heap.data(), heap_.data(), heap.size()) != 0) {
      for (const auto& [address, readers] : by_word_) {
        const uint64_t offset = address - reinterpret_cast<uint64_t>(heap.data());
        if (offset + 8 > heap.size()) continue;
        const uint64_t before = word_at(reinterpret_cast<uint64_t>(heap_.data()) + offset);
        if (((before ^ word_at(address)) & readers.bits) != 0) add(readers.queries);
      }
    }
    add(watched_);
  }
  context_ = context;
  globals_ = globals;
  heap_.assign(heap.begin(), heap.end());
  sort_unique(&affected_);
  return affected_;
}

const std::vector<ResultId>* QueryMemory::recall(QueryId query) {
  State& state = states_[query];
  for (size_t i = state.runs.size(); i-- > 0;) {
    const Run& run = state.runs[i];
    const bool same = run.context == context_ && run.globals == globals_ &&
                      std::all_of(run.words.begin(), run.words.end(),
                                  [](const WordRead& w) { return (word_at(w.address) & w.bits) == w.value; }) &&
                      std::all_of(run.lines.begin(), run.lines.end(), [&](const LineRead& r) {
                        return executor_->signature(r.line, r.mask) == r.signature;
                      });
    if (!same) continue;
    state.last = i;
    return &run.results;
  }
  return nullptr;
}

void QueryMemory::remember(QueryId query, std::vector<ResultId> results) {
  Run run{{}, {}, globals_, context_, std::move(results)};
  run.lines.reserve(executor_->reads().lines.size());
  run.words.reserve(executor_->reads().words.size());
  const State& known = states_[query];
  // The index has the lines of the runs that are kept, and these make up most read sets.
  const auto indexed = [&known](uint64_t line) {
    return std::any_of(known.runs.begin(), known.runs.end(), [line](const Run& r) {
      return std::any_of(r.lines.begin(), r.lines.end(), [line](const LineRead& l) { return l.line == line; });
    });
  };
  const auto word_indexed = [&known](uint64_t address, uint64_t bits) {
    return std::any_of(known.runs.begin(), known.runs.end(), [address, bits](const Run& r) {
      return std::any_of(r.words.begin(), r.words.end(),
                         [&](const WordRead& w) { return w.address == address && (bits & ~w.bits) == 0; });
    });
  };
  for (uint64_t line : executor_->reads().lines) {
    const uint64_t mask = executor_->read_mask(line);
    run.lines.push_back({line, mask, executor_->signature(line, mask)});
    if (!indexed(line)) by_line_[line].insert(query);
  }
  for (uint64_t address : executor_->reads().words) {
    const uint64_t bits = executor_->read_bits(address);
    run.words.push_back({address, bits, word_at(address) & bits});
    if (word_indexed(address, bits)) continue;
    WordReaders& readers = by_word_[address];
    readers.bits |= bits;
    readers.queries.insert(query);
  }
  State& state = states_[query];
  if (state.runs.size() == kRunsKept) state.runs.erase(state.runs.begin());
  state.runs.push_back(std::move(run));
  state.last = state.runs.size() - 1;
}

const std::vector<ResultId>* QueryMemory::last(QueryId query) const {
  const auto at = states_.find(query);
  if (at == states_.end() || at->second.runs.empty()) return nullptr;
  return &at->second.runs[at->second.last].results;
}

void QueryMemory::watch(QueryId query, bool on) {
  if (on) {
    watched_.insert(query);
  } else {
    watched_.erase(query);
  }
}

}  // namespace powercut
