// exhaustive: the eager reference. Every legal image, byte by byte, one after the other, with nothing shared
// between them. Slow and obvious; the other strategies are compared with it. A level with more states than
// the limit is left out, and then the run is no longer complete.
#include "replayer/strategies/strategies.h"

namespace powercut {
namespace {

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(uint64_t limit) : limit_(limit) {}
  std::string_view name() const override { return "exhaustive"; }
  bool complete() const override { return !skipped_; }
  bool samples() const override { return false; }

  BigInt visit(const LineSets& pending, uint64_t, const std::function<void(const LineSets&)>& explore) override {
    const BigInt count = state_count(pending);
    if (count > limit_) {
      skipped_ = true;
      return 0;
    }
    ConcreteLevel level(pending);
    std::vector<uint32_t> digits(pending.size(), 0);
    for (;;) {
      explore(level.sets());
      size_t i = 0;
      while (i < digits.size() && ++digits[i] == pending[i]->contents.size()) level.choose(i, digits[i] = 0), ++i;
      if (i == digits.size()) return count;
      level.choose(i, digits[i]);
    }
  }

 private:
  const uint64_t limit_;
  bool skipped_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const StrategyOptions& options) {
  return std::make_unique<Exhaustive>(options.exhaustive_limit);
}

}  // namespace powercut
