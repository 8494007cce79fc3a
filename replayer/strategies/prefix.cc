// prefix: one image a crash point, with all visible stores durable, in program order. Linear and quick: what a
// tester without a persistency model would look at, and a first smoke test. Never complete.
#include "replayer/strategies/strategies.h"

namespace powercut {
namespace {

class Prefix final : public Strategy {
 public:
  std::string_view name() const override { return "prefix"; }
  bool complete() const override { return false; }
  bool samples() const override { return true; }
  bool visible_only() const override { return true; }
  bool may_remember() const override { return true; }
  BigInt visit(const LineSets& pending, uint64_t, const std::function<void(const LineSets&)>& explore) override {
    ConcreteLevel level(pending);
    for (size_t i = 0; i < pending.size(); ++i) level.choose(i, pending[i]->visible);
    explore(level.sets());
    return 1;
  }
};

}  // namespace

std::unique_ptr<Strategy> make_prefix(const StrategyOptions&) { return std::make_unique<Prefix>(); }

}  // namespace powercut
