#include "checker/exploration/likely_images.h"

#include <algorithm>
#include <utility>

namespace powercut {

class LikelyImages::Order final : public Strategy {
 public:
  explicit Order(std::function<bool()> goes_on) : goes_on_(std::move(goes_on)) {}
  std::string_view name() const override { return "likely"; }
  bool complete() const override { return false; }
  bool samples() const override { return true; }

  BigInt visit(const LineSets& pending, uint64_t, const std::function<void(const LineSets&)>& explore) override {
    BigInt tried = 0;
    ConcreteLevel level(pending);
    const auto visible = [&](size_t line) { level.choose(line, pending[line]->visible); };
    // A lost line keeps none of its stores. A line that shows its oldest content takes its last one instead.
    const auto lost = [&](size_t line) {
      const LineSet& set = *pending[line];
      level.choose(line, set.visible == 0 ? static_cast<uint32_t>(set.contents.size() - 1) : 0);
    };
    const auto look = [&] {
      if (!goes_on_()) return false;
      explore(level.sets());
      ++tried;
      return true;
    };
    const size_t lines = std::min(pending.size(), kMostLines);
    for (size_t line = 0; line < pending.size(); ++line) visible(line);
    for (size_t i = 0; i < lines; ++i) {
      const size_t line = pending.size() - 1 - i;
      lost(line);
      if (!look()) return tried;
      visible(line);
    }
    for (size_t line = 0; line < pending.size(); ++line) lost(line);
    if (!look()) return tried;
    for (size_t line = 0; line < pending.size(); ++line) visible(line);
    if (!look()) return tried;
    for (size_t line = 0; line < pending.size(); ++line) lost(line);
    for (size_t i = 0; i < lines; ++i) {
      const size_t line = pending.size() - 1 - i;
      visible(line);
      if (!look()) return tried;
      lost(line);
    }
    return tried;
  }

  uint64_t allowed = 0;

 private:
  std::function<bool()> goes_on_;
};

LikelyImages::LikelyImages(Executor* executor, Subject* subject, std::function<bool()> found)
    : order_(std::make_unique<Order>([this, executor, found = std::move(found)] {
        const ExplorerCounts& taken = explorer_->counts();
        return !executor->stopped() && !found() && taken.executions + taken.query_runs < order_->allowed;
      })),
      explorer_(make_eager_explorer(executor, order_.get(), subject, {.nested = 0, .obligations = false})) {}

LikelyImages::~LikelyImages() = default;

void LikelyImages::look(const Frontier& frontier, uint64_t ordinal, uint64_t taken) {
  if (frontier.states() < kLeastStates) return;
  order_->allowed = kAllowed + taken / kShare;
  explorer_->crash_point(frontier, {}, ordinal);
}

}  // namespace powercut
