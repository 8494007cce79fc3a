#include "replayer/explorer/convergence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "replayer/undecided/novelty.h"
#include "tracer/world/arena.h"
#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

Signature signature_of(const void* data, size_t size, uint64_t seed = 0) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
  return {hash.low64, hash.high64};
}

void add(Signature* sum, const Signature& part) {
  sum->low += part.low;
  sum->high += part.high;
}

void take(Signature* sum, const Signature& part) {
  sum->low -= part.low;
  sum->high -= part.high;
}

// Returns the digest of a line's possible contents. It is a sum: the order does not matter, and contents can come and
// go.
Signature of_contents(uint64_t line, Contents contents) {
  Signature out;
  for (const Content& content : contents) add(&out, signature_of(content.bytes.data(), kLineSize, line + 1));
  return out;
}

const Content& in_pool(const Executor& executor, uint64_t line) {
  return *reinterpret_cast<const Content*>(executor.pool() + line * kLineSize);
}

}  // namespace

// ---- the medium ------------------------------------------------------------------------------------

void Convergence::forget() {
  clear();
  total_ = {};
}

void Convergence::trace_changed(const Frontier& frontier, const Frontier::Change& change) {
  const LineSet* now = frontier.find(change.line);
  if (change.grew) {
    add(&total_, of_contents(change.line, Contents(now->contents).subspan(change.old_count)));
    return;
  }
  take(&total_, of_contents(change.line, change.before.contents));
  const Contents held = now != nullptr ? Contents(now->contents) : Contents(&in_pool(*executor_, change.line), 1);
  add(&total_, of_contents(change.line, held));
}

void Convergence::push(const Frontier& frontier, const LineSets& sets) {
  frontier_ = &frontier;
  Level& level = levels_.emplace_back(Level{total_, {}});
  for (const LineSet* set : sets) {
    const Signature before = at_level(set->line, in_pool(*executor_, set->line));
    const Signature now = of_contents(set->line, set->contents);
    take(&total_, before);
    add(&total_, now);
    const auto [at, added] = replaced_.try_emplace(set->line, now);
    level.replaced.emplace_back(set->line, added ? std::nullopt : std::optional(std::exchange(at->second, now)));
  }
}

void Convergence::pop() {
  Level& level = levels_.back();
  total_ = level.total;
  for (auto& [line, before] : level.replaced) {
    if (before) {
      replaced_[line] = *before;
    } else {
      replaced_.erase(line);
    }
  }
  levels_.pop_back();
}

Signature Convergence::at_level(uint64_t line, const Content& held) const {
  if (const auto at = replaced_.find(line); at != replaced_.end()) return at->second;
  const LineSet* set = frontier_->find(line);
  return of_contents(line, set != nullptr ? Contents(set->contents) : Contents(&held, 1));
}

bool Convergence::begins(int depth, bool each_depth) {
  if (known_.size() >= kMostKnown) clear();
  const uint64_t apart = each_depth ? static_cast<uint64_t>(depth) : 0;
  const auto [at, added] = known_.try_emplace({total_.low + apart, total_.high}, Known{.depth = depth});
  if (!added && at->second.depth <= depth) return false;
  at->second.depth = depth;
  return true;
}

// ---- one way -----------------------------------------------------------------------------------------

void Convergence::begin(const Frontier& frontier, const UndecidedMemory::Mark& start, uint64_t way) {
  frontier_ = &frontier;
  way_ = way;
  seen_ = start;
  own_.clear();
  sum_ = {};
}

Signature Convergence::medium() {
  const UndecidedMemory& memory = executor_->memory();
  for (const UndecidedMemory::Touched& touched : memory.touched_since(seen_)) {
    const auto [at, added] = own_.try_emplace(touched.line);
    if (added) at->second = at_level(touched.line, touched.before);
    const Signature now = of_contents(touched.line, memory.contents(touched.line));
    take(&sum_, at->second);
    add(&sum_, now);
    at->second = now;
  }
  seen_ = memory.mark();
  Signature out = total_;
  add(&out, sum_);
  return out;
}

void Convergence::Done::count_lines() {
  for (; counted < reads.size(); ++counted) lines.insert(reads[counted].first / kLineSize);
}

bool Convergence::meets(const Signature& machine, int depth, const std::shared_ptr<Done>& done) {
  const Signature here = medium();
  const std::array<uint64_t, 4> both = {machine.low, machine.high, here.low, here.high};
  const Signature key = signature_of(both.data(), sizeof both);
  if (known_.size() >= kMostKnown || reads_ >= kMostReads) clear();
  const auto [at, added] = known_.try_emplace({key.low, key.high});
  Known& known = at->second;
  if (!added && known.way == way_) return false;
  if (!added && known.depth <= depth && known.stores >= done->stores && known.flushes >= done->flushes &&
      known.fences >= done->fences) {
    done->count_lines();
    known.done->count_lines();
    const auto missing = std::count_if(done->lines.begin(), done->lines.end(),
                                       [&](uint64_t line) { return !known.done->lines.contains(line); });
    if (static_cast<uint64_t>(missing) * kLinesOfOne <= known.done->lines.size()) return true;
  }
  if (added || known.depth >= depth) {
    known = {depth, way_, done->stores, done->flushes, done->fences, done};
    reads_ += done->reads.size() - std::exchange(done->kept, done->reads.size());
  }
  return false;
}

// ---- the machine -------------------------------------------------------------------------------------

std::optional<Signature> MachineDigests::at(LiveState live) {
  const UndecidedMemory& memory = executor_->memory();
  const std::span<const uint8_t> fresh = memory.fresh();
  if (virtual_world.used != 0 || answer_->overflow() || TargetRunner::met_other_code()) return std::nullopt;
  if (fresh.size() > Convergence::kMostFresh) return std::nullopt;
  memory.other_words_since(seen_, &words_);
  seen_ = memory.mark();
  Signature others;
  for (const auto& [address, before] : words_) {
    const std::array<uint64_t, 2> word = {address, load_word(reinterpret_cast<const uint8_t*>(address))};
    if (word[1] != before) add(&others, signature_of(word.data(), sizeof word));
  }
  const MachineState machine = executor_->runner().state(live);
  const Signature words = signature_of(machine.words.data(), machine.words.size() * sizeof(uint64_t));
  const Signature heap = signature_of(fresh.data(), fresh.size());
  const Signature answer = signature_of(answer_->view().data(), answer_->view().size());
  const std::array<uint64_t, 18> all = {reinterpret_cast<uint64_t>(machine.at),
                                        machine.words.size(),
                                        words.low,
                                        words.high,
                                        uint64_t{machine.mxcsr} << 32 | machine.x87_control,
                                        static_cast<uint64_t>(machine.error),
                                        reinterpret_cast<uint64_t>(machine.exceptions.caught),
                                        machine.exceptions.uncaught,
                                        others.low,
                                        others.high,
                                        fresh.size(),
                                        heap.low,
                                        heap.high,
                                        arena.last,
                                        answer_->phase(),
                                        answer_->view().size(),
                                        answer.low,
                                        answer.high};
  return signature_of(all.data(), sizeof all);
}

}  // namespace powercut
