// random: seeded samples of a crash point's legal images, each line's content drawn uniformly and independently.
// (Images are uniform too, since a crash state is one candidate for every line.) Never complete.
#include <random>
#include <set>

#include "replayer/strategies/strategies.h"

namespace powercut {
namespace {

class Random final : public Strategy {
 public:
  Random(uint64_t seed, uint64_t samples) : seed_(seed), samples_(samples) {}
  std::string_view name() const override { return "random"; }
  bool complete() const override { return false; }
  bool samples() const override { return true; }

  BigInt visit(const LineSets& pending, uint64_t ordinal,
               const std::function<void(const LineSets&)>& explore) override {
    // The ordinal seeds each crash point on its own, so that the work can be split in any way.
    std::mt19937_64 source(seed_ * 0x9E3779B97F4A7C15 + ordinal);
    ConcreteLevel level(pending);
    std::set<std::vector<uint32_t>> tried;
    for (uint64_t n = 0; n < samples_; ++n) {
      std::vector<uint32_t> drawn;
      for (const LineSet* set : pending) drawn.push_back(static_cast<uint32_t>(source() % set->contents.size()));
      if (!tried.insert(drawn).second) continue;
      for (size_t i = 0; i < drawn.size(); ++i) level.choose(i, drawn[i]);
      explore(level.sets());
    }
    return BigInt(tried.size());
  }

 private:
  const uint64_t seed_, samples_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const StrategyOptions& options) {
  return std::make_unique<Random>(options.seed, options.samples);
}

}  // namespace powercut
