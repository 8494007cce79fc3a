#include "replayer/search/merged_search.h"

#include <algorithm>
#include <iterator>

#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

bool has_all(const Alive& all, const Alive& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// Appends the length of `values` and a digest of 128 bits.
template <typename T>
void add(const std::vector<T>& values, std::vector<uint64_t>* out) {
  const XXH128_hash_t hash = XXH3_128bits(values.data(), values.size() * sizeof(T));
  out->insert(out->end(), {values.size(), hash.low64, hash.high64});
}

// The values at a load, line by line, and the value at hand.
struct Option {
  uint64_t line;
  std::vector<std::vector<uint32_t>> candidates;  // by value
  size_t at = 0;
};

std::vector<Option> options_at(const Executor::Branch& branch, UndecidedMemory* memory) {
  std::vector<Option> out;
  const uint64_t begin = branch.address - kPoolBase, end = std::min(begin + branch.size, memory->pool_size());
  for_each_line(begin, end, [&](uint64_t line, uint64_t mask) {
    if (memory->undecided(line, mask) != 0) out.push_back({line, memory->alive_by_value(line, mask)});
  });
  return out;
}

bool advance(std::vector<Option>* options) {
  for (Option& option : *options) {
    if (++option.at < option.candidates.size()) return true;
    option.at = 0;
  }
  return false;
}

}  // namespace

bool MergedSearch::run(const std::function<void()>& query, absl::FunctionRef<bool(Outcome*)> ended) {
  UndecidedMemory& memory = executor_->memory();
  start_ = memory.mark();
  states_.clear();
  known_.clear();
  waiting_.clear();
  kept_bytes_ = 0;
  bool stopped = false;
  watched_ = TargetRunner::met_other_code();
  answer_->clear();
  const uint64_t loads = executor_->loads();
  ++counts_->stretches;
  Executor::Stretch first = executor_->run_to_branch(query);
  bool complete = arrive(std::move(first), kNobody, executor_->loads() - loads, ended, &stopped);
  while (complete && !stopped && !waiting_.empty()) {
    if (executor_->stopped()) break;
    const uint32_t next = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    complete = expand(next, ended, &stopped);
  }
  executor_->end_stretches();
  return stopped || executor_->stopped() || (complete && !has_cycle());
}

bool MergedSearch::expand(uint32_t number, absl::FunctionRef<bool(Outcome*)> ended, bool* stopped) {
  UndecidedMemory& memory = executor_->memory();
  const State from = std::move(states_[number]);
  states_[number].left = from.left;
  states_[number].expanded = true;
  std::vector<Option> options;
  bool begun = false;
  do {
    answer_->clear();
    answer_->put(from.answer.data(), from.answer.size());
    answer_->set_phase(from.phase);
    const uint64_t loads = executor_->loads();
    size_t product = 1;
    ++counts_->stretches;
    Executor::Stretch stretch = executor_->go_on(from.branch, [&] {
      memory.do_again(from.changes, from.left);
      if (!begun) options = options_at(from.branch, &memory);
      begun = true;
      for (const Option& option : options) {
        memory.keep_only(option.line, option.candidates[option.at]);
        product = std::min(product * option.candidates.size(), kMostOptions + 1);
      }
    });
    const uint64_t progress = from.progress + executor_->loads() - loads;
    if (product > kMostOptions) {
      memory.undo(start_);
      return false;
    }
    if (!arrive(std::move(stretch), number, progress, ended, stopped)) return false;
  } while (!*stopped && !executor_->stopped() && advance(&options));
  return true;
}

bool MergedSearch::arrive(Executor::Stretch&& stretch, uint32_t from, uint64_t progress,
                          absl::FunctionRef<bool(Outcome*)> ended, bool* stopped) {
  UndecidedMemory& memory = executor_->memory();
  bool followed =
      !stretch.lost && virtual_world.used == 0 && !answer_->overflow() && TargetRunner::met_other_code() == watched_;
  if (followed && !stretch.branch) *stopped = !ended(&stretch.outcome);
  State state;
  if (followed && stretch.branch) {
    followed = memory.fresh_bytes() <= kMostFresh && states_.size() < kMostStates && kept_bytes_ < kMostBytes;
    state.branch = std::move(*stretch.branch);
    state.changes = memory.changes_since(start_);
    state.answer.assign(answer_->view().begin(), answer_->view().end());
    state.phase = answer_->phase();
    state.left = memory.narrowed(start_.decided);
    state.progress = progress;
    kept_bytes_ += state.answer.size() + state.changes.fresh.size() +
                   state.changes.words.size() * sizeof(UndecidedMemory::Changes::Word) +
                   state.branch.machine.words.size() * sizeof(uint64_t);
  }
  memory.undo(start_);
  virtual_world.used = 0;
  if (!followed) return false;
  if (stretch.branch) take_in(std::move(state), from);
  return true;
}

void MergedSearch::take_in(State state, uint32_t from) {
  std::sort(state.left.begin(), state.left.end(),
            [](const Narrowed& a, const Narrowed& b) { return a.set->line < b.set->line; });
  std::vector<uint32_t>& same = known_[digest(state)];
  uint32_t at = kNobody;  // the state that `state` was joined with
  for (size_t i = 0; i < same.size();) {
    const uint32_t other = same[i];
    State& known = states_[other];
    if (other == at) {
      ++i;
    } else if (within(state.left, known.left)) {
      // The state is covered, and with it all that was joined to it so far.
      ++counts_->merged;
      if (at != kNobody) drop(at, other, &same);
      link(from, other);
      return;
    } else if (Left both; !known.expanded && join(state.left, known.left, &both)) {
      ++counts_->merged;
      if (at != kNobody) drop(at, other, &same);
      waiting_.erase({known.progress, other});
      known.progress = std::max(known.progress, state.progress);
      waiting_.insert({known.progress, other});
      known.left = state.left = std::move(both);
      state.progress = known.progress;
      at = other;
      i = 0;  // with more candidates, the state may join another state now
    } else {
      ++i;
    }
  }
  if (at == kNobody) {
    at = static_cast<uint32_t>(states_.size());
    same.push_back(at);
    waiting_.insert({state.progress, at});
    states_.push_back(std::move(state));
  }
  link(from, at);
}

// Drops the waiting state `gone`, which has become a part of `into`.
void MergedSearch::drop(uint32_t gone, uint32_t into, std::vector<uint32_t>* same) {
  waiting_.erase({states_[gone].progress, gone});
  std::erase(*same, gone);
  states_[gone] = {};
  states_[gone].expanded = true;
  states_[gone].next = {into};
}

void MergedSearch::link(uint32_t from, uint32_t to) {
  if (from != kNobody) states_[from].next.push_back(to);
}

// Returns a digest of all that the code's next instructions depend on, except for the bytes of the medium.
MergedSearch::Digest MergedSearch::digest(const State& state) {
  const MachineState& machine = state.branch.machine;
  std::vector<uint64_t> numbers = {reinterpret_cast<uint64_t>(machine.at),
                                   uint64_t{machine.mxcsr} << 32 | machine.x87_control,
                                   static_cast<uint64_t>(machine.error),
                                   reinterpret_cast<uint64_t>(machine.exceptions.caught),
                                   machine.exceptions.uncaught,
                                   state.branch.address,
                                   state.branch.size,
                                   uint64_t{state.branch.in_pieces},
                                   state.changes.last,
                                   state.phase};
  for (const UndecidedMemory::Changes::Word& word : state.changes.words) {
    numbers.insert(numbers.end(), {word.address, word.value, word.bytes});
  }
  add(machine.words, &numbers);
  add(state.changes.fresh, &numbers);
  add(state.answer, &numbers);
  const XXH128_hash_t out = XXH3_128bits(numbers.data(), numbers.size() * sizeof(uint64_t));
  return {out.low64, out.high64};
}

// Returns the number of candidates that a line has where the query begins.
size_t MergedSearch::candidates(uint64_t line) const { return executor_->memory().alive_count(line); }

bool MergedSearch::within(const Left& small, const Left& large) {
  auto at = small.begin();
  return std::all_of(large.begin(), large.end(), [&](const Narrowed& line) {
    while (at != small.end() && at->set->line < line.set->line) ++at;
    return at != small.end() && at->set == line.set && has_all(line.alive, at->alive);
  });
}

bool MergedSearch::join(const Left& a, const Left& b, Left* out) const {
  out->clear();
  size_t differ = 0;
  for (auto left = a.begin(), right = b.begin(); left != a.end() || right != b.end();) {
    if (right == b.end() || (left != a.end() && left->set->line < right->set->line)) {
      ++differ, ++left;  // the other list lacks the line: all its candidates are left
    } else if (left == a.end() || right->set->line < left->set->line) {
      ++differ, ++right;
    } else if (left->alive == right->alive) {
      out->push_back(*left);
      ++left, ++right;
    } else {
      ++differ;
      Narrowed both{left->set, {}};
      std::set_union(left->alive.begin(), left->alive.end(), right->alive.begin(), right->alive.end(),
                     std::back_inserter(both.alive));
      if (both.alive.size() < candidates(both.set->line)) out->push_back(std::move(both));
      ++left, ++right;
    }
    if (differ > 1) return false;
  }
  return true;
}

bool MergedSearch::has_cycle() const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> seen(states_.size(), kNew);
  std::vector<std::pair<uint32_t, size_t>> path;
  for (uint32_t root = 0; root < states_.size(); ++root) {
    if (seen[root] != kNew) continue;
    seen[root] = kOpen;
    path = {{root, 0}};
    while (!path.empty()) {
      auto& [state, child] = path.back();
      if (child == states_[state].next.size()) {
        seen[state] = kDone;
        path.pop_back();
        continue;
      }
      const uint32_t next = states_[state].next[child++];
      if (seen[next] == kOpen) return true;
      if (seen[next] == kDone) continue;
      seen[next] = kOpen;
      path.emplace_back(next, 0);
    }
  }
  return false;
}

}  // namespace powercut
