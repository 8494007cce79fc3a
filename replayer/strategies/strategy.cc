#include "replayer/strategies/strategy.h"

namespace powercut {

std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options) {
  if (name == "read-driven") return make_read_driven();
  if (name == "exhaustive") return make_exhaustive(options.exhaustive_limit);
  if (name == "prefix") return make_prefix();
  if (name == "random") return make_random(options.seed, options.samples);
  return nullptr;
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
