#include "checker/oracle/prefixes.h"

#include <algorithm>
#include <utility>

#include "xxhash.h"

namespace powercut {
namespace {

void put(Prefixes::Table* table, uint32_t key, int32_t state) {
  if (key >= table->size()) table->resize(key + 1, kAbsent);
  (*table)[key] = state;
  while (!table->empty() && table->back() == kAbsent) table->pop_back();
}

}  // namespace

uint32_t Prefixes::begin(OpKind kind, uint32_t key, int32_t value) { return begin(Operation{kind, key, value}); }
uint32_t Prefixes::begin_sync() { return begin(Operation{OpKind::kMaintain, 0, kAbsent, true}); }

uint32_t Prefixes::begin(const Operation& operation) {
  const auto free = std::find(under_way_.begin(), under_way_.end(), std::nullopt);
  const auto number = static_cast<uint32_t>(free - under_way_.begin());
  if (free == under_way_.end()) under_way_.emplace_back();
  under_way_[number] = operation;
  std::set<Configuration> wider;
  for (Configuration configuration : configurations_) {
    configuration.owed.resize(under_way_.size());
    if (operation.is_sync) configuration.before |= uint64_t{1} << number;
    wider.insert(std::move(configuration));
  }
  configurations_ = std::move(wider);
  return number;
}

void Prefixes::end(uint32_t number, Answer answer) {
  const bool is_sync = under_way_[number]->is_sync;
  const auto all = reached();
  std::set<Configuration> explained;
  for (Configuration configuration : all.value_or(explained)) {
    const uint64_t bit = uint64_t{1} << number;
    if (is_sync) {
      if (answer.status == POWERCUT_OK && (configuration.before & bit) != 0) continue;
      configuration.before &= ~bit;
    } else {
      std::optional<Answer>& owed = configuration.owed[number];
      const std::optional<Answer> wanted = Linearizations::tells(answer.status) ? std::optional(answer) : std::nullopt;
      if (owed != wanted) continue;
      owed.reset();
    }
    explained.insert(std::move(configuration));
  }
  under_way_[number].reset();
  replace(all ? std::optional(std::move(explained)) : std::nullopt);
}

void Prefixes::cut() {
  const auto all = reached();
  std::set<Configuration> left;
  for (const Configuration& configuration : all.value_or(left))
    left.insert({configuration.kept, configuration.kept, {}});
  under_way_.clear();
  replace(all ? std::optional(std::move(left)) : std::nullopt);
}

void Prefixes::replace(std::optional<std::set<Configuration>> configurations) {
  if (!configurations) overflowed_ = true;
  configurations_ = overflowed_ ? std::set<Configuration>() : std::move(*configurations);
}

std::optional<std::set<Prefixes::Table>> Prefixes::tables() const {
  const auto all = reached();
  if (overflowed_ || !all) return std::nullopt;
  std::set<Table> out;
  for (const Configuration& configuration : *all) out.insert(configuration.kept);
  return out;
}

std::set<int32_t> Prefixes::held(uint32_t key) const {
  std::set<int32_t> out;
  for (const Configuration& configuration : reached().value_or(configurations_)) {
    out.insert(state_in(configuration.now, key));
  }
  return out;
}

uint64_t Prefixes::digest() const {
  uint64_t sum = overflowed_ ? 1 : 0;
  const auto add = [&sum](uint64_t word) { sum = XXH3_64bits_withSeed(&word, sizeof word, sum); };
  const auto add_all = [&add](const Table& table) {
    add(table.size());
    for (const int32_t state : table) add(static_cast<uint32_t>(state));
  };
  for (const std::optional<Operation>& operation : under_way_) {
    add(operation ? 1 + static_cast<uint64_t>(operation->kind) : 0);
    if (!operation) continue;
    add(operation->key);
    add(static_cast<uint32_t>(operation->value));
  }
  for (const Configuration& configuration : configurations_) {
    add_all(configuration.now);
    add_all(configuration.kept);
    add(configuration.before);
    for (const std::optional<Answer>& owed : configuration.owed) {
      add(owed ? 1 + static_cast<uint64_t>(owed->status) : 0);
      if (owed) add(static_cast<uint64_t>(owed->found));
    }
  }
  return sum;
}

// Precondition: nothing is under way.
void Prefixes::renumber(const std::function<int32_t(uint32_t, int32_t)>& value_of) {
  const auto renumbered = [&](const Table& table) {
    Table out = table;
    for (uint32_t key = 0; key < out.size(); ++key) {
      if (out[key] != kAbsent) out[key] = value_of(key, out[key]);
    }
    return out;
  };
  std::set<Configuration> other;
  for (const Configuration& configuration : configurations_) {
    Configuration copy = configuration;
    copy.now = renumbered(configuration.now);
    copy.kept = renumbered(configuration.kept);
    other.insert(std::move(copy));
  }
  configurations_ = std::move(other);
}

// Returns these configurations, and those that they become by effects of operations under way, and by keeping the
// table's contents.
std::optional<std::set<Prefixes::Configuration>> Prefixes::reached() const {
  std::set<Configuration> out;
  std::vector<Configuration> waiting;
  size_t keys = 0;
  const auto reach = [&](Configuration configuration) {
    if (!out.insert(configuration).second) return;
    keys += configuration.now.size() + configuration.kept.size() + 1;
    waiting.push_back(std::move(configuration));
  };
  for (const Configuration& configuration : configurations_) reach(configuration);
  while (!waiting.empty()) {
    if (keys > kMostKeys) return std::nullopt;
    const Configuration now = std::move(waiting.back());
    waiting.pop_back();
    Configuration kept = now;
    kept.kept = now.now;
    kept.before = 0;
    reach(std::move(kept));
    for (size_t number = 0; number < under_way_.size(); ++number) {
      const std::optional<Operation>& operation = under_way_[number];
      if (!operation || operation->is_sync || now.owed[number]) continue;
      const auto effect =
          Linearizations::effect_of(operation->kind, operation->value, state_in(now.now, operation->key));
      Configuration then = now;
      put(&then.now, operation->key, static_cast<int32_t>(effect.holds));
      then.owed[number] = effect.answer;
      reach(std::move(then));
    }
  }
  return out;
}

}  // namespace powercut
