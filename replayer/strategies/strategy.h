// Which crash states of a level are tried, one strategy a file.
#ifndef POWERCUT_REPLAYER_STRATEGIES_STRATEGY_H_
#define POWERCUT_REPLAYER_STRATEGIES_STRATEGY_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "boost/multiprecision/cpp_int.hpp"
#include "replayer/executor/executor.h"

namespace powercut {

using BigInt = boost::multiprecision::cpp_int;

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  // Calls `explore` with crash states of the level `pending` (its undecided lines; `ordinal` numbers the crash
  // point). A set left with several contents is decided by what recovery reads.
  // Returns how many of the level's crash states these calls cover.
  virtual BigInt visit(const LineSets& pending, uint64_t ordinal,
                       const std::function<void(const LineSets&)>& explore) = 0;
  // Whether every legal crash state is covered, so that the verdict may say `complete`.
  virtual bool complete() const = 0;
  // By design some crash states alone are tried, of however few: never complete().
  virtual bool samples() const = 0;
  // The one state of a level that is tried is that with everything visible persisted.
  virtual bool visible_only() const { return false; }
  // visit() gives the level as it is, or with visible_only() that one state: recovery may be followed in a trie
  // (replayer/explorer), which needs no call of visit().
  virtual bool may_remember() const { return false; }
};

struct StrategyOptions {
  uint64_t seed = 1;
  uint64_t samples = 16;                 // random: images a crash point
  uint64_t exhaustive_limit = 1u << 22;  // exhaustive: largest level that is enumerated
};

std::span<const std::string_view> strategy_names();
// `name` is one of strategy_names(); null for any other.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyOptions& options);

BigInt state_count(const LineSets& pending);

// A level in which every line holds one given content.
class ConcreteLevel {
 public:
  explicit ConcreteLevel(const LineSets& pending);
  void choose(size_t index, uint32_t content);
  const LineSets& sets() const { return sets_; }

 private:
  const LineSets& pending_;
  std::vector<LineSet> lines_;
  LineSets sets_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_STRATEGIES_STRATEGY_H_
