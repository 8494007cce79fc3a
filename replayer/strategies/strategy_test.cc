// The properties of a strategy hold for the crash states that it names.
#include "replayer/strategies/strategy.h"

#include <gtest/gtest.h>

#include <vector>

namespace powercut {
namespace {

// Lines of 3, 2 and 4 contents; the visible one is not the first, nor always the last.
class Strategies : public ::testing::TestWithParam<std::string_view> {
 protected:
  Strategies() {
    for (uint32_t count : {3u, 2u, 4u}) {
      LineSet& set = lines_.emplace_back();
      set.line = lines_.size();
      set.contents.resize(count);
      for (uint32_t i = 0; i < count; ++i) set.contents[i].bytes[0] = static_cast<uint8_t>(i);
      set.visible = count / 2;
    }
    for (const LineSet& set : lines_) level_.push_back(&set);
  }
  // For each state that the strategy names: how many contents each line has left; of a single content its first byte.
  struct Named {
    std::vector<std::vector<size_t>> left;
    std::vector<std::vector<uint8_t>> bytes;
    BigInt covered;
  };
  Named visit() {
    Named out;
    out.covered = strategy_->visit(level_, 7, [&](const LineSets& sets) {
      auto& left = out.left.emplace_back();
      auto& bytes = out.bytes.emplace_back();
      for (const LineSet* set : sets) {
        left.push_back(set->contents.size());
        bytes.push_back(set->contents[0].bytes[0]);
      }
    });
    return out;
  }

  std::vector<LineSet> lines_;
  LineSets level_;
  std::unique_ptr<Strategy> strategy_ = make_strategy(GetParam(), {.samples = 5});
};

TEST_P(Strategies, IsMadeByItsName) { EXPECT_EQ(strategy_->name(), GetParam()); }

TEST_P(Strategies, IsCompleteUnlessItSamples) {
  const Named named = visit();
  EXPECT_EQ(strategy_->complete(), !strategy_->samples());
  EXPECT_EQ(named.covered == 24, !strategy_->samples());
}

// The trie follows all states of a level, or the visible one, without asking the strategy which.
TEST_P(Strategies, IsRememberedOnlyWhereTheTrieKnowsWhatItTries) {
  const Named named = visit();
  const bool whole = named.left == std::vector<std::vector<size_t>>{{3, 2, 4}};
  const bool visible = named.left == std::vector<std::vector<size_t>>{{1, 1, 1}} &&
                       named.bytes == std::vector<std::vector<uint8_t>>{{1, 1, 2}};
  EXPECT_EQ(strategy_->visible_only(), visible);
  EXPECT_EQ(strategy_->may_remember(), visible || whole);
}

INSTANTIATE_TEST_SUITE_P(All, Strategies, ::testing::ValuesIn(strategy_names().begin(), strategy_names().end()));

TEST(Strategy, AnotherNameMakesNone) { EXPECT_EQ(make_strategy("random ", {}), nullptr); }

}  // namespace
}  // namespace powercut
