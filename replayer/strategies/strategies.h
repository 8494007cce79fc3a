// Makers of the strategies; strategy.cc has the names.
#ifndef POWERCUT_REPLAYER_STRATEGIES_STRATEGIES_H_
#define POWERCUT_REPLAYER_STRATEGIES_STRATEGIES_H_

#include <memory>

#include "replayer/strategies/strategy.h"

namespace powercut {

std::unique_ptr<Strategy> make_read_driven(const StrategyOptions& options);
std::unique_ptr<Strategy> make_exhaustive(const StrategyOptions& options);
std::unique_ptr<Strategy> make_prefix(const StrategyOptions& options);
std::unique_ptr<Strategy> make_random(const StrategyOptions& options);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_STRATEGIES_STRATEGIES_H_
