#include "replayer/undecided/novelty.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "replayer/executor/test_hooks.h"

namespace powercut {
namespace {

using testing::content;

constexpr uint64_t kWord0 = 0xff, kWord1 = 0xff00;

TEST(Novelty, EqualSetsHaveNothingNew) {
  const std::vector<Content> set = {content({1}), content({2})};
  const std::vector<Content> turned = {content({2}), content({1})};
  for (const Novelty& novelty : {Novelty(set, set), Novelty(set, turned), Novelty(set, turned, true)}) {
    EXPECT_EQ(novelty.any(), 0u);
    EXPECT_FALSE(novelty.in(~uint64_t{0}));
  }
}

TEST(Novelty, ContentsThatAreGoneAreNewsOnlyWhereBothCount) {
  const std::vector<Content> before = {content({1}), content({2})}, now = {content({1})};
  EXPECT_FALSE(Novelty(before, now).in(kWord0));
  EXPECT_TRUE(Novelty(before, now, true).in(kWord0));
  EXPECT_TRUE(Novelty(before, now, true).contents_in(kWord0).empty());
}

// 1 2 and 3 4 were there. 1 4 is new to who reads both words, and to nobody who reads one.
TEST(Novelty, IsMeantUnderTheMask) {
  const std::vector<Content> before = {content({1, 2}), content({3, 4})}, now = {content({1, 4}), content({1, 2})};
  const Novelty novelty(before, now);
  EXPECT_FALSE(novelty.in(kWord0));
  EXPECT_FALSE(novelty.in(kWord1));
  EXPECT_TRUE(novelty.in(kWord0 | kWord1));
  EXPECT_EQ(novelty.contents_in(kWord0 | kWord1), std::vector<uint32_t>{0});
}

TEST(Novelty, OneByteIsEnough) {
  const std::vector<Content> before = {content({})}, now = {content({0, 0, 0, 0, 0, 0, 0, uint64_t{1} << 56})};
  const Novelty novelty(before, now);
  EXPECT_EQ(novelty.any(), uint64_t{1} << 63);
  EXPECT_TRUE(novelty.in(uint64_t{1} << 63));
  EXPECT_FALSE(novelty.in(~(uint64_t{1} << 63)));
}

TEST(Novelty, LargeSetsAreComparedByDifferingBytesAlone) {
  std::vector<Content> before, now;
  for (uint64_t i = 0; i < 80; ++i) before.push_back(content({i, 7}));
  for (uint64_t i = 0; i < 80; ++i) now.push_back(content({i + 1, 7}));
  const Novelty novelty(before, now);
  EXPECT_TRUE(novelty.in(kWord0));  // 80 alone is new
  EXPECT_FALSE(novelty.in(kWord1));
  EXPECT_TRUE(novelty.contents_in(kWord0).empty());  // not worked out
}

std::vector<Content> any_contents() {
  std::vector<Content> out;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto small = rc::gen::inRange<uint64_t>(0, 3);
    out.push_back(content({*small << 16 | *small, *small}));
  }
  return out;
}

Content under(Content line, uint64_t mask) {
  for (size_t i = 0; i < kLineSize; ++i) {
    if ((mask >> i & 1) == 0) line.bytes[i] = 0;
  }
  return line;
}

// Checks the definition: a content is new if no earlier content has the same bytes under the mask.
RC_GTEST_PROP(NoveltyRules, IsWhatItSays, ()) {
  const std::vector<Content> before = any_contents(), now = any_contents();
  const auto mask = static_cast<uint64_t>(*rc::gen::inRange<int>(0, 1 << 10));
  const bool both = *rc::gen::arbitrary<bool>();
  const auto fresh = [mask](const std::vector<Content>& known, const Content& maybe) {
    return std::none_of(known.begin(), known.end(),
                        [&](const Content& c) { return under(c, mask) == under(maybe, mask); });
  };
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < now.size(); ++i) {
    if (fresh(before, now[i])) expected.push_back(i);
  }
  const bool gone = std::any_of(before.begin(), before.end(), [&](const Content& c) { return fresh(now, c); });
  const Novelty novelty(before, now, both);
  RC_ASSERT(novelty.in(mask) == (!expected.empty() || (both && gone)));
  RC_ASSERT(novelty.contents_in(mask) == expected);
  RC_ASSERT(!novelty.in(mask) || (novelty.any() & mask) != 0);
}

}  // namespace
}  // namespace powercut
