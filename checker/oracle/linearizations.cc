#include "checker/oracle/linearizations.h"

#include <algorithm>
#include <utility>

#include "xxhash.h"

namespace powercut {

Linearizations::Effect Linearizations::effect_of(OpKind kind, State value, State holds, State absent) {
  const bool there = holds != absent;
  switch (kind) {
    case OpKind::kInsert:
      return there ? Effect{holds, {POWERCUT_EXISTS}} : Effect{value, {POWERCUT_OK}};
    case OpKind::kUpdate:
      return there ? Effect{value, {POWERCUT_OK}} : Effect{holds, {POWERCUT_NOT_FOUND}};
    case OpKind::kErase:
      return there ? Effect{absent, {POWERCUT_OK}} : Effect{holds, {POWERCUT_NOT_FOUND}};
    case OpKind::kLookup:
      return there ? Effect{holds, {POWERCUT_OK, holds}} : Effect{holds, {POWERCUT_NOT_FOUND}};
    case OpKind::kIncrement:
      // Sums wrap around, as they do in the table.
      return {static_cast<State>(static_cast<uint64_t>(holds) + static_cast<uint64_t>(value)), {POWERCUT_OK}};
    case OpKind::kFormat:
    case OpKind::kOpen:
    case OpKind::kMaintain:
    case OpKind::kClose:
      break;  // no operation on a key
  }
  return {holds, {POWERCUT_UNSUPPORTED}};
}

bool Linearizations::tells(powercut_status status) {
  return status == POWERCUT_OK || status == POWERCUT_NOT_FOUND || status == POWERCUT_EXISTS;
}

uint32_t Linearizations::begin(OpKind kind, State value) {
  const auto free = std::find(under_way_.begin(), under_way_.end(), std::nullopt);
  const auto number = static_cast<uint32_t>(free - under_way_.begin());
  if (free == under_way_.end()) under_way_.emplace_back();
  under_way_[number] = Operation{kind, value};
  std::set<Configuration> wider;
  for (Configuration configuration : configurations_) {
    configuration.owed.resize(under_way_.size());
    wider.insert(std::move(configuration));
  }
  configurations_ = std::move(wider);
  return number;
}

void Linearizations::end(uint32_t number, Answer answer) {
  std::set<Configuration> explained;
  for (Configuration configuration : tells(answer.status) ? reached() : configurations_) {
    std::optional<Answer>& owed = configuration.owed[number];
    const std::optional<Answer> wanted = tells(answer.status) ? std::optional(answer) : std::nullopt;
    if (owed != wanted) continue;
    owed.reset();
    explained.insert(std::move(configuration));
  }
  configurations_ = std::move(explained);
  under_way_[number].reset();
}

void Linearizations::cut() {
  std::set<Configuration> left;
  for (const State state : states()) left.insert({state, {}});
  configurations_ = std::move(left);
  under_way_.clear();
}

uint64_t Linearizations::digest() const {
  uint64_t sum = 0;
  const auto add = [&sum](uint64_t word) { sum = XXH3_64bits_withSeed(&word, sizeof word, sum); };
  add(under_way_.size());
  for (const std::optional<Operation>& operation : under_way_) {
    add(operation ? 1 + static_cast<uint64_t>(operation->kind) : 0);
    if (operation) add(static_cast<uint64_t>(operation->value));
  }
  for (const Configuration& configuration : configurations_) {
    add(static_cast<uint64_t>(configuration.holds));
    for (const std::optional<Answer>& owed : configuration.owed) {
      add(owed ? 1 + static_cast<uint64_t>(owed->status) : 0);
      if (owed) add(static_cast<uint64_t>(owed->found));
    }
  }
  return sum;
}

std::set<Linearizations::State> Linearizations::states() const {
  std::set<State> out;
  for (const Configuration& configuration : reached()) out.insert(configuration.holds);
  return out;
}

std::set<Linearizations::Configuration> Linearizations::reached() const {
  std::set<Configuration> out = configurations_;
  std::vector<Configuration> waiting(out.begin(), out.end());
  while (!waiting.empty()) {
    const Configuration now = std::move(waiting.back());
    waiting.pop_back();
    for (size_t number = 0; number < under_way_.size(); ++number) {
      if (!under_way_[number] || now.owed[number]) continue;
      const Effect effect = effect_of(under_way_[number]->kind, under_way_[number]->value, now.holds, absent_);
      Configuration then = now;
      then.holds = effect.holds;
      then.owed[number] = effect.answer;
      if (out.insert(then).second) waiting.push_back(std::move(then));
    }
  }
  return out;
}

}  // namespace powercut
