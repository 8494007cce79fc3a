#include "checker/schedules/client_choices.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "tracer/record/key_bytes.h"
#include "xxhash.h"

namespace powercut {
namespace {

// An operation's number plus one fits into a byte.
constexpr size_t kMostNumbers = 254;

size_t length(ClientChoices::Taken taken) { return (64 - static_cast<size_t>(std::countl_zero(taken)) + 7) / 8; }

uint8_t at(ClientChoices::Taken taken, size_t index) { return static_cast<uint8_t>(taken >> (8 * index)); }

// Operations in which both agree, from the first on.
size_t common(ClientChoices::Taken one, ClientChoices::Taken other) {
  const size_t both = std::min(length(one), length(other));
  return one == other ? both : std::min(both, static_cast<size_t>(std::countr_zero(one ^ other)) / 8);
}

// From which operation on two threads have the same alternatives; beyond their ends if they do nowhere.
size_t same_from(const std::vector<std::vector<uint8_t>>& one, const std::vector<std::vector<uint8_t>>& other) {
  if (one.size() != other.size()) return std::max(one.size(), other.size());
  return static_cast<size_t>(one.rend() - std::mismatch(one.rbegin(), one.rend(), other.rbegin()).first);
}

}  // namespace

ClientChoices::ClientChoices(const ThreadWork& work) : alike_(work.alike), checks_exists_(work.checks_exists) {
  for (const auto& operations : work.clients) {
    threads_.emplace_back();
    for (const Alternatives& alternatives : operations) {
      open_ |= alternatives.size() > 1;
      threads_.back().emplace_back();
      for (const ThreadOperation& operation : alternatives) {
        const bool counts = operation.kind == OpKind::kIncrement;
        const Operation known{operation.kind, operation.id, operation.text,
                              counts ? operation.value : std::vector<uint8_t>{}};
        const auto found = std::find(operations_.begin(), operations_.end(), known);
        threads_.back().back().push_back(static_cast<uint8_t>(found - operations_.begin()));
        if (found != operations_.end()) continue;
        operations_.push_back(known);
        const auto index = work.history->find(text_of(operation.key));
        if (!index) continue;
        const std::vector<int32_t> legal = work.history->keys()[*index].all_legal();
        if (std::any_of(legal.begin(), legal.end(), [](int32_t state) { return state != kAbsent; })) {
          present_.insert(operation.id);
        }
      }
    }
  }
  if (!open_) return;
  if (operations_.size() > kMostNumbers) {
    throw std::runtime_error("threads choose among more than " + std::to_string(kMostNumbers) + " operations");
  }
  for (const auto& lower : threads_) {
    same_from_.emplace_back();
    for (const auto& higher : threads_) same_from_.back().push_back(same_from(lower, higher));
  }
  std::vector<Taken> none(threads_.size());
  if (!has_client(&none)) {
    throw std::runtime_error(
        "whatever the threads choose, an insert may meet its key, which this target does not check");
  }
}

uint64_t ClientChoices::ways(std::span<const Taken> taken, uint32_t thread) const {
  if (!open_) return 1;
  std::vector<Taken> key(taken.begin(), taken.end());
  key.push_back(thread);
  if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  std::vector<Taken> all(taken.begin(), taken.end());
  const size_t count = threads_[thread][length(taken[thread])].size();
  uint64_t out = 0;
  for (uint32_t way = 0; way < count; ++way) {
    const Taken with = take(taken[thread], thread, way);
    if (!may_be_taken(taken, thread, with)) continue;
    all[thread] = with;
    if (has_client(&all)) out |= uint64_t{1} << way;
  }
  return ways_[std::move(key)] = out;
}

// The order in which threads take up the operations left does not matter: one thread after the other will do.
bool ClientChoices::has_client(std::vector<Taken>* taken) const {
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
    const Taken before = (*taken)[thread];
    const size_t next = length(before);
    if (next == threads_[thread].size()) continue;
    bool has = false;
    for (uint32_t way = 0; way < threads_[thread][next].size() && !has; ++way) {
      const Taken with = take(before, thread, way);
      if (!may_be_taken(*taken, thread, with)) continue;
      (*taken)[thread] = with;
      has = has_client(taken);
      (*taken)[thread] = before;
    }
    return has;
  }
  return true;
}

ClientChoices::Taken ClientChoices::take(Taken taken, uint32_t thread, uint32_t way) const {
  if (!open_) return 0;
  const size_t next = length(taken);
  return taken | Taken{threads_[thread][next][way] + 1u} << (8 * next);
}

bool ClientChoices::may_be_taken(std::span<const Taken> taken, uint32_t thread, Taken with) const {
  for (uint32_t other = 0; alike_ && other < threads_.size(); ++other) {
    if (other < thread && !in_order(other, taken[other], thread, with)) return false;
    if (other > thread && !in_order(thread, with, other, taken[other])) return false;
  }
  if (checks_exists_) return true;
  std::vector<Taken> all(taken.begin(), taken.end());
  all[thread] = with;
  return !breaks_rule(all);
}

bool ClientChoices::in_order(uint32_t lower, Taken of_lower, uint32_t higher, Taken of_higher) const {
  const size_t same = common(of_lower, of_higher);
  if (same == std::min(length(of_lower), length(of_higher))) return true;
  return same < same_from_[lower][higher] || at(of_lower, same) < at(of_higher, same);
}

// An operation without alternatives counts as taken: no choice before it may break the rule together with it.
bool ClientChoices::breaks_rule(std::span<const Taken> taken) const {
  std::map<uint64_t, Effects> effects;
  for (size_t thread = 0; thread < threads_.size(); ++thread) {
    for (size_t next = 0; next < threads_[thread].size(); ++next) {
      const std::vector<uint8_t>& numbers = threads_[thread][next];
      const uint8_t byte = at(taken[thread], next);
      if (byte == 0 && numbers.size() > 1) break;
      const Operation& operation = operations_[byte == 0 ? numbers[0] : byte - 1u];
      if (operation.kind != OpKind::kInsert && operation.kind != OpKind::kErase) continue;
      Effects& of_key = effects.try_emplace(operation.id, threads_.size()).first->second;
      of_key[thread] += operation.kind == OpKind::kInsert ? 'i' : 'e';
    }
  }
  return std::any_of(effects.begin(), effects.end(), [this](auto& key) {
    std::sort(key.second.begin(), key.second.end());
    return may_meet(key.second, present_.contains(key.first));
  });
}

bool ClientChoices::may_meet(const Effects& threads, bool present) const {
  const auto [at, is_new] = known_.try_emplace({threads, present}, false);
  if (!is_new) return at->second;
  bool meets = false;
  for (size_t thread = 0; thread < threads.size() && !meets; ++thread) {
    if (threads[thread].empty()) continue;
    const bool inserts = threads[thread][0] == 'i';
    Effects after = threads;
    after[thread].erase(0, 1);
    std::sort(after.begin(), after.end());
    meets = (inserts && present) || may_meet(after, inserts);
  }
  return known_[{threads, present}] = meets;
}

uint64_t ClientChoices::digest(std::span<const Taken> taken) const {
  if (!checks_exists_) return XXH3_64bits(taken.data(), taken.size_bytes());
  uint64_t out = 0;
  for (size_t thread = 0; alike_ && thread < taken.size(); ++thread) {
    for (size_t other = thread + 1; other < taken.size(); ++other) {
      // If the two threads have taken up different operations, their order is settled.
      const size_t same = common(taken[thread], taken[other]);
      const bool settled = same < std::min(length(taken[thread]), length(taken[other]));
      const Taken pair[2] = {settled ? ~Taken{0} : taken[thread] >> (8 * same),
                             settled ? ~Taken{0} : taken[other] >> (8 * same)};
      out = XXH3_64bits_withSeed(pair, sizeof pair, out + same);
    }
  }
  return out;
}

uint64_t ClientChoices::clients() const {
  if (!open_) return 1;
  std::vector<Taken> taken(threads_.size());
  return count(&taken, 0);
}

uint64_t ClientChoices::count(std::vector<Taken>* taken, uint32_t thread) const {
  if (thread == threads_.size()) return 1;
  const Taken before = (*taken)[thread];
  if (length(before) == threads_[thread].size()) return count(taken, thread + 1);
  uint64_t out = 0;
  for (uint64_t ways = this->ways(*taken, thread); ways != 0; ways &= ways - 1) {
    (*taken)[thread] = take(before, thread, static_cast<uint32_t>(std::countr_zero(ways)));
    out += count(taken, thread);
  }
  (*taken)[thread] = before;
  return out;
}

}  // namespace powercut
