#include "checker/subjects/program/reads/behaviours.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>

namespace powercut {
namespace {

constexpr uint64_t kLines = 5;
constexpr std::array<uint64_t, 4> kBytes = {0, 1, 8, 9};

// A recovery: what it does next depends on the bytes that it has read. A tree by depth and values, made of a seed.
struct Recovery {
  uint64_t seed;
  bool shuffles = false;  // it reads the same in another order each time, as threads would
  struct Run {
    std::vector<WordBytes> reads;
    uint32_t outcome;
  };
  // Runs the recovery on an image; returns its reads.
  Run run(const std::vector<Content>& image) const {
    static uint64_t runs = 0;
    std::map<uint64_t, uint64_t> masks;
    uint64_t state = seed;
    const auto next = [&] { return state = state * 6364136223846793005 + 1442695040888963407; };
    Run out{};
    const uint64_t steps = next() >> 60;
    for (uint64_t step = 0; step < steps; ++step) {
      // A read is of one byte, or of two at once; the bytes lie in two words of a line.
      const uint64_t line = (next() >> 33) % kLines, byte = kBytes[(next() >> 33) % kBytes.size()];
      const uint64_t both = (next() >> 33) % 2 == 0 && byte % 8 == 0 ? 3 : 1;
      const uint64_t first = both << byte & ~masks[line];
      masks[line] |= first;
      if (first != 0) out.reads.push_back({line * 8 + byte / 8, static_cast<uint8_t>(first >> (byte / 8 * 8))});
      state ^= uint64_t{image[line].bytes[byte]} << 20;
      if (both == 3) state ^= uint64_t{image[line].bytes[byte + 1]} << 24;
    }
    out.outcome = static_cast<uint32_t>(next() >> 40) % 7;
    if (shuffles) std::shuffle(out.reads.begin(), out.reads.end(), std::mt19937_64(++runs % 5));
    return out;
  }
};

struct CrashPoint {
  std::vector<LineSet> lines;
  std::vector<uint8_t> pool = std::vector<uint8_t>(kLines * kLineSize);
  LineSets sets() const {
    LineSets out;
    for (const LineSet& line : lines) out.push_back(&line);
    return out;
  }
  std::vector<Content> image(const std::vector<uint32_t>& choice) const {
    std::vector<Content> out(kLines);
    for (uint64_t line = 0; line < kLines; ++line) {
      std::memcpy(out[line].bytes.data(), pool.data() + line * kLineSize, kLineSize);
    }
    for (size_t i = 0; i < lines.size(); ++i) out[lines[i].line] = lines[i].contents[choice[i]];
    return out;
  }
};

CrashPoint draw_crash_point() {
  CrashPoint out;
  for (uint8_t& byte : out.pool) byte = *rc::gen::inRange<uint8_t>(0, 2);
  for (uint64_t line = 0; line < kLines; ++line) {
    const auto contents = *rc::gen::inRange<size_t>(1, 4);
    if (contents == 1) continue;
    LineSet& set = out.lines.emplace_back();
    set.line = line;
    for (size_t i = 0; i < contents; ++i) {
      Content& content = set.contents.emplace_back();
      for (const uint64_t byte : kBytes) content.bytes[byte] = *rc::gen::inRange<uint8_t>(0, 3);
      content.bytes[63] = static_cast<uint8_t>(i);  // never read: contents are distinct
    }
  }
  return out;
}

template <typename Visit>
void for_each(const Box& box, const Visit& visit) {
  std::vector<size_t> at(box.size());
  for (;;) {
    std::vector<uint32_t> choice;
    for (size_t i = 0; i < box.size(); ++i) choice.push_back(box[i][at[i]]);
    visit(choice);
    size_t i = 0;
    while (i < box.size() && ++at[i] == box[i].size()) at[i++] = 0;
    if (i == box.size()) return;
  }
}

// Running one member of every rest until no rest is left covers each image once, with its outcome.
TEST(Behaviours, CoverEveryImageOnceAndRightly) {
  rc::check([] {
    const Recovery recovery = {*rc::gen::arbitrary<uint64_t>(), *rc::gen::inRange(0, 8) == 0};
    Behaviours known;
    // With several crash points, behaviours of one serve the next.
    for (int point = 0; point < 3; ++point) {
      const CrashPoint crash = draw_crash_point();
      const LineSets sets = crash.sets();
      std::vector<Behaviours::Answered> answered;
      std::vector<Box> rest;
      known.cover(sets, crash.pool.data(), whole_box(sets), &answered, &rest);
      while (!rest.empty()) {
        const Box box = rest.back();
        rest.pop_back();
        std::vector<uint32_t> member;
        for (const auto& contents : box) member.push_back(contents.front());
        const Recovery::Run run = recovery.run(crash.image(member));
        RC_ASSERT(known.add(words_of(run.reads, sets, crash.pool.data(), member), run.outcome));
        const size_t before = answered.size();
        known.cover(sets, crash.pool.data(), box, &answered, &rest);
        RC_ASSERT(answered.size() > before);
      }
      std::map<std::vector<uint32_t>, int> seen;
      BigInt total = 0;
      for (const auto& [box, outcome, number] : answered) {
        RC_ASSERT(number < known.size());
        total += size_of(box);
        for_each(box, [&](const std::vector<uint32_t>& choice) {
          ++seen[choice];
          RC_ASSERT(outcome == recovery.run(crash.image(choice)).outcome);
        });
      }
      RC_ASSERT(total == state_count(sets));
      RC_ASSERT(BigInt(seen.size()) == total);
      for (const auto& [choice, times] : seen) RC_ASSERT(times == 1);
    }
  });
}

TEST(Behaviours, OneThatReadsNothingAnswersForEverything) {
  LineSet set;
  set.line = 3;
  set.contents.resize(100);
  for (size_t i = 0; i < 100; ++i) set.contents[i].bytes[0] = static_cast<uint8_t>(i);
  Behaviours known;
  known.add({}, 0);
  std::vector<Behaviours::Answered> answered;
  std::vector<Box> rest;
  known.cover({&set}, nullptr, whole_box({&set}), &answered, &rest);
  ASSERT_EQ(answered.size(), 1u);
  EXPECT_EQ(size_of(answered[0].box), 100);
  EXPECT_TRUE(rest.empty());
}

TEST(Behaviours, ALineThatIsDefiniteMustAgree) {
  std::vector<uint8_t> pool(128);
  Behaviours known;
  known.add({{{8, 1}, 5}}, 0);
  std::vector<Behaviours::Answered> answered;
  std::vector<Box> rest;
  known.cover({}, pool.data(), {}, &answered, &rest);
  EXPECT_TRUE(answered.empty());
  EXPECT_EQ(rest.size(), 1u);
  pool[64] = 5;
  known.cover({}, pool.data(), {}, &answered, &rest);
  EXPECT_EQ(answered.size(), 1u);
}

// A tree, and no more leaves than recovery has ends.
TEST(Behaviours, EachRunIsALeaf) {
  rc::check([] {
    const Recovery recovery = {*rc::gen::arbitrary<uint64_t>()};
    const CrashPoint crash = draw_crash_point();
    const LineSets sets = crash.sets();
    Behaviours known;
    std::set<std::vector<std::pair<uint64_t, uint64_t>>> different;
    for_each(whole_box(sets), [&](const std::vector<uint32_t>& choice) {
      const Recovery::Run run = recovery.run(crash.image(choice));
      const std::vector<ReadWord> words = words_of(run.reads, sets, crash.pool.data(), choice);
      RC_ASSERT(known.add(words, run.outcome));
      std::vector<std::pair<uint64_t, uint64_t>> path;
      for (const ReadWord& word : words) path.emplace_back(word.bytes.word << 8 | word.bytes.mask, word.value);
      different.insert(path);
    });
    RC_ASSERT(known.size() == different.size());
  });
}

TEST(Behaviours, TooManyOrdersAreNoRoom) {
  Behaviours known;
  for (uint64_t word = 0; word < Behaviours::kMostTrees; ++word) EXPECT_TRUE(known.add({{{word, 1}, 0}}, 0));
  EXPECT_FALSE(known.add({{{Behaviours::kMostTrees, 1}, 0}}, 0));
}

}  // namespace
}  // namespace powercut
