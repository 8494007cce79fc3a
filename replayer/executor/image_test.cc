#include "replayer/executor/image.h"

#include <gtest/gtest.h>

#include "replayer/executor/test_hooks.h"

namespace powercut {
namespace {

using testing::content;
using testing::line_set;

class ImageTest : public ::testing::Test {
 protected:
  ImageTest() : executor_({.pool_size = 4096, .step_budget = 1000, .globals = {}, .own_code = {}}) {}
  ~ImageTest() override {
    for (; levels_ > 0; --levels_) executor_.memory().uninstall();
  }

  void cut(LineSets sets, Image::Nested nested = {}) {
    executor_.memory().install(sets);
    ++levels_;
    cuts_.push(std::move(sets), std::move(nested));
  }
  static const Image::Line* find(const std::vector<Image::Line>& lines, uint64_t line) {
    for (const Image::Line& at : lines) {
      if (at.line == line) return &at;
    }
    return nullptr;
  }

  Executor executor_;
  CutLevels cuts_;
  int levels_ = 0;
  const LineSet first_ = line_set(0, {content({1}), content({2}), content({3})});
  const LineSet second_ = line_set(1, {content({5}), content({6})});
};

TEST_F(ImageTest, ShowsAsLittleLostAsTheExecutionAllows) {
  cut({&first_, &second_});
  const Image untouched = cuts_.image(executor_);
  EXPECT_EQ(find(untouched.levels[0], 0)->content, content({3}));
  EXPECT_FALSE(find(untouched.levels[0], 0)->decided);
  EXPECT_EQ(find(untouched.levels[0], 0)->candidates, 3u);

  executor_.memory().choose(0, 0xff, 1);
  const Image observed = cuts_.image(executor_);
  EXPECT_EQ(find(observed.levels[0], 0)->content, content({1}));
  EXPECT_TRUE(find(observed.levels[0], 0)->decided);
  EXPECT_EQ(find(observed.levels[0], 1)->content, content({6}));
  EXPECT_FALSE(find(observed.levels[0], 1)->decided);
}

// The line's content after the second cut determines its content after the first cut.
TEST_F(ImageTest, ANestedChoiceFixesTheCutBefore) {
  cut({&first_, &second_});
  LineSet child = line_set(0, {content({1, 9}), content({2, 9}), content({3})});
  child.base = {0, 1, 2};
  for (const bool seen : {false, true}) {
    child.observed = seen;
    cut({&child}, {.stores_seen = 1, .after_return = true, .stores = {{.offset = 8, .size = 8, .stack = {}}}});
    executor_.memory().choose(0, 0xff, 2);
    const Image image = cuts_.image(executor_);
    ASSERT_EQ(image.levels.size(), 2u);
    EXPECT_EQ(find(image.levels[1], 0)->content, content({2, 9}));
    EXPECT_TRUE(find(image.levels[1], 0)->decided);
    EXPECT_EQ(find(image.levels[0], 0)->content, content({2}));
    EXPECT_EQ(find(image.levels[0], 0)->decided, seen);  // by the recovery that was cut
    ASSERT_EQ(image.nested.size(), 1u);
    EXPECT_EQ(image.nested[0].stores_seen, 1u);
    EXPECT_TRUE(image.nested[0].after_return);
    executor_.memory().uninstall();
    --levels_;
    cuts_.pop();
  }
}

// A cut that does not change the line passes the choice on to the cut before.
TEST_F(ImageTest, AChoiceReachesTheNearestCutThatLeftTheLineOpen) {
  cut({&first_});
  const LineSet other = [] {
    LineSet out = line_set(7, {content({1}), content({2})});
    out.base = {0, 0};
    return out;
  }();
  cut({&other});
  LineSet child = line_set(0, {content({1, 9}), content({3, 9})});
  child.base = {0, 2};
  cut({&child});
  executor_.memory().choose(0, 0xff, 1);
  const Image image = cuts_.image(executor_);
  EXPECT_EQ(find(image.levels[2], 0)->content, content({1, 9}));
  EXPECT_EQ(find(image.levels[1], 0), nullptr);
  EXPECT_EQ(find(image.levels[0], 0)->content, content({1}));
}

// Only the innermost recovery has read the line: the earlier recovery would have gone the same way with any content.
TEST_F(ImageTest, WhatTheLastRecoveryObservedWasDecidedThere) {
  cut({&first_, &second_});
  LineSet child = line_set(0, {content({4})});
  child.base = {2};
  cut({&child});
  executor_.memory().choose(kLineSize, 0xff, 5);
  const Image image = cuts_.image(executor_);
  EXPECT_EQ(find(image.levels[0], 1)->content, content({5}));
  EXPECT_FALSE(find(image.levels[0], 1)->decided);
  ASSERT_NE(find(image.levels[1], 1), nullptr);
  EXPECT_EQ(find(image.levels[1], 1)->content, content({5}));
  EXPECT_TRUE(find(image.levels[1], 1)->decided);
}

}  // namespace
}  // namespace powercut
