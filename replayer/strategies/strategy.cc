#include "replayer/strategies/strategy.h"

#include <algorithm>
#include <array>

#include "replayer/strategies/strategies.h"

namespace powercut {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"read-driven", "exhaustive", "prefix", "random"};
constexpr std::array kMakers = {make_read_driven, make_exhaustive, make_prefix, make_random};
static_assert(kMakers.size() == kNames.size());

}  // namespace

std::span<const std::string_view> strategy_names() { return kNames; }

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  return at == kNames.end() ? nullptr : kMakers[static_cast<size_t>(at - kNames.begin())](options);
}

BigInt state_count(const LineSets& pending) {
  BigInt count = 1;
  for (const LineSet* set : pending) count *= set->contents.size();
  return count;
}

ConcreteLevel::ConcreteLevel(const LineSets& pending) : pending_(pending), lines_(pending.size()) {
  for (size_t i = 0; i < pending.size(); ++i) {
    lines_[i].line = pending[i]->line;
    sets_.push_back(&lines_[i]);
    choose(i, 0);
  }
}

void ConcreteLevel::choose(size_t index, uint32_t content) {
  const LineSet& from = *pending_[index];
  lines_[index].contents.assign(1, from.contents[content]);
  if (!from.base.empty()) lines_[index].base.assign(1, from.base[content]);
}

}  // namespace powercut
