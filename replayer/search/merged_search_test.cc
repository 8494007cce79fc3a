#include "replayer/search/merged_search.h"

#include <random>
#include <set>
#include <string>

#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using namespace powercut::testing;

class MergedSearchTest : public ExecutorFixture {
 protected:
  MergedSearchTest() : ExecutorFixture(100000) {}

  using Answers = std::set<std::string>;
  // Returns every answer, by one execution for each way.
  Answers plainly(const std::function<void()>& query) {
    Answers out;
    Decisions decisions;
    const UndecidedMemory::Mark start = executor_.memory().mark();
    do {
      buffer_.clear();
      Outcome outcome = executor_.run(&decisions, query);
      finish_answer(&executor_, &outcome, &buffer_);
      out.emplace(buffer_.view());
      executor_.memory().undo(start);
    } while (decisions.advance());
    return out;
  }
  // Returns every answer by merged ways; nothing if the search has given up.
  std::optional<Answers> merged(const std::function<void()>& query) {
    Answers out;
    counts_ = {};
    MergedSearch search(&executor_, &buffer_, &counts_);
    const uint64_t before = executor_.memory().digest();
    const bool complete = search.run(query, [&](Outcome* outcome) {
      finish_answer(&executor_, outcome, &buffer_);
      out.emplace(buffer_.view());
      return true;
    });
    EXPECT_EQ(executor_.memory().digest(), before);
    if (!complete) return std::nullopt;
    return out;
  }
  // Expects `count` answers, and the same ones merged and plainly.
  void expect_answers(const std::function<void()>& query, size_t count) {
    const auto found = merged(query);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), count);
    EXPECT_EQ(*found, plainly(query));
  }
  void answer(uint64_t value) { buffer_.put(&value, sizeof value); }

  // `lines` lines whose first word is 0 or 1.
  void install(uint64_t lines) {
    for (uint64_t line = 0; line < lines; ++line) sets_.push_back(line_set(line, {content({0}), content({1})}));
    LineSets pointers;
    for (const LineSet& set : sets_) pointers.push_back(&set);
    executor_.memory().install(pointers);
  }
  ~MergedSearchTest() override {
    if (!sets_.empty()) executor_.memory().uninstall();
  }

  std::vector<LineSet> sets_;
  ResultBuffer buffer_{1 << 20};
  MergedSearch::Counts counts_;
};

TEST_F(MergedSearchTest, AScanCostsItsLinesAndNotTheirCombinations) {
  constexpr uint64_t kLines = 40;
  install(kLines);
  const auto found = merged([&] {
    uint64_t last = 0;
    for (uint64_t line = 0; line < kLines; ++line) {
      step();
      if (load<uint64_t>(line * 64) == 2) last = line;
    }
    answer(last);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1u);
  EXPECT_EQ(counts_.stretches, 1 + 2 * kLines);
  EXPECT_EQ(counts_.merged, kLines - 1);
}

TEST_F(MergedSearchTest, WhatIsReadAgainIsStillOpen) {
  install(12);
  const auto query = [&] {
    for (uint64_t line = 0; line < 12; ++line) load<uint64_t>(line * 64);
    uint64_t bits = 0;
    for (uint64_t line = 0; line < 3; ++line) bits = bits * 2 + load<uint64_t>(line * 64);
    answer(bits);
  };
  expect_answers(query, 8);
  EXPECT_LT(counts_.stretches, 64u);
}

TEST_F(MergedSearchTest, OneValueIsSeenAtBothReads) {
  install(3);
  const auto query = [&] {
    const auto first = load<uint64_t>(0);
    load<uint64_t>(64);
    const auto second = load<uint64_t>(0);
    answer(first * 2 + second);
  };
  EXPECT_EQ(merged(query), plainly(query));
  EXPECT_EQ(plainly(query).size(), 2u);
}

// Not inlined: the loaded value stays in no word of the caller's frame.
[[gnu::noinline]] void add_to(uint64_t* sum, uint64_t offset) {
  store_to(sum, load_from(sum) + load<uint64_t>(offset));
}
[[gnu::noinline]] void read(uint64_t offset) { load<uint64_t>(offset); }
[[gnu::noinline]] bool alike(uint64_t a, uint64_t b) { return load<uint64_t>(a) == load<uint64_t>(b); }

// Tests in which one place alone tells ways apart that have loaded different values.
class OnlyPlace : public MergedSearchTest {
 protected:
  void expect_told_apart(const std::function<uint64_t*()>& place) {
    install(8);
    const auto query = [&] {
      uint64_t* sum = place();
      for (uint64_t line = 0; line < 4; ++line) add_to(sum, line * 64);
      read(256);
      read(384);
      answer(load_from(sum));
    };
    expect_answers(query, 5);
    EXPECT_GT(counts_.merged, 0u) << "the dead words are alike, too";
  }
};
TEST_F(OnlyPlace, ThePool) {
  expect_told_apart([] { return reinterpret_cast<uint64_t*>(powercut::testing::at(640)); });
}
TEST_F(OnlyPlace, APendingLine) {
  expect_told_apart([] {
    auto* const word = reinterpret_cast<uint64_t*>(powercut::testing::at(320));
    store_to(word, uint64_t{3});
    return word;
  });
}
TEST_F(OnlyPlace, AGlobal) {
  expect_told_apart([] { return &target_global; });
}
TEST_F(OnlyPlace, HeapOfItsOwn) {
  expect_told_apart([] { return static_cast<uint64_t*>(std::malloc(16)); });
}

TEST_F(MergedSearchTest, TheAnswerSoFarIsPartOfTheState) {
  install(4);
  const auto query = [&] {
    answer(load<uint64_t>(0));
    load<uint64_t>(64);
    load<uint64_t>(128);
    answer(3);
  };
  expect_answers(query, 2);
}

TEST_F(MergedSearchTest, WaysThatDifferInTwoLinesStayApart) {
  install(4);
  const auto query = [&] {
    if (!alike(0, 64)) return answer(9);
    read(128);
    answer(load<uint64_t>(0) * 2 + load<uint64_t>(64));
  };
  expect_answers(query, 3);
}

// Ways are joined in it, so that it comes back to a state with every line open, as if nothing was left to answer.
TEST_F(MergedSearchTest, ALoopThatNeverEndsIsNoAnswerOfTheOthers) {
  install(4);
  const auto query = [&] {
    for (;;) {
      step();
      if (alike(0, 192)) break;
      read(64);
      read(128);
    }
    answer(1);
  };
  EXPECT_EQ(plainly(query).size(), 2u);  // it returns, or does not end
  EXPECT_FALSE(merged(query)) << "a circle is not believed";
}

TEST_F(MergedSearchTest, AFailureIsAnAnswer) {
  install(10);
  const auto query = [&] {
    uint64_t sum = 0;
    for (uint64_t line = 0; line < 10; ++line) sum += load<uint64_t>(line * 64);
    if (sum == 7) throw 7;
    answer(sum);
  };
  expect_answers(query, 11);
}

TEST_F(MergedSearchTest, ItStopsWhereItIsTold) {
  install(10);
  int ends = 0;
  MergedSearch search(&executor_, &buffer_, &counts_);
  const uint64_t before = executor_.memory().digest();
  EXPECT_TRUE(
      search.run([&] { answer(load<uint64_t>(0) + load<uint64_t>(64)); }, [&](Outcome*) { return ++ends < 2; }));
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(executor_.memory().digest(), before);
}

// A program for a machine with an accumulator. The machine's memory is the pool, a global, heap that was there before,
// heap of its own, and the answer.
struct Instruction {
  enum Code : uint8_t {
    kLoad,
    kAdd,
    kStore,
    kToGlobal,
    kFromGlobal,
    kToHeap,
    kFromHeap,
    kGrow,
    kToGrown,
    kFromGrown,
    kSkipIfOdd,
    kMask,
    kShow,
    kExchange,
    kWide,
    kClear,
    kCodes
  } code;
  uint64_t argument;
};

class RandomPrograms : public MergedSearchTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(RandomPrograms, AnswerAsOneExecutionForEachWayDoes) {
  std::mt19937_64 random(GetParam());
  const auto draw = [&](uint64_t below) { return random() % below; };
  const char* many = std::getenv("POWERCUT_MERGED_PROGRAMS");
  const uint64_t programs = many == nullptr ? 400 : std::stoull(many);
  uint64_t complete = 0, joined = 0;
  for (uint64_t p = 0; p < programs; ++p) {
    const uint64_t lines = 1 + draw(7);
    std::vector<LineSet> sets;
    for (uint64_t line = 0; line < lines; ++line) {
      std::vector<Content> contents;
      const uint64_t count = 1 + draw(3);
      while (contents.size() < count) {
        const Content next = content({draw(3), draw(2), draw(4) == 0 ? draw(2) : 0});
        if (std::find(contents.begin(), contents.end(), next) == contents.end()) contents.push_back(next);
      }
      sets.push_back(line_set(line, std::move(contents)));
    }
    std::vector<Instruction> program(3 + draw(20));
    for (Instruction& each : program) {
      each = {static_cast<Instruction::Code>(draw(Instruction::kCodes)), draw(lines) * 64 + draw(3) * 8};
      if (draw(3) == 0) each.code = Instruction::kLoad;
    }
    LineSets pointers;
    for (const LineSet& set : sets) pointers.push_back(&set);
    executor_.memory().install(pointers);
    uint64_t* old_heap = nullptr;  // allocated by an execution that is not undone, as recovery's is
    const UndecidedMemory::Mark start = executor_.memory().mark();
    EXPECT_TRUE(run([&] { old_heap = static_cast<uint64_t*>(std::malloc(64)); }).returned());
    const auto query = [&] {
      uint64_t value = 0;
      uint64_t* grown = nullptr;
      for (size_t i = 0; i < program.size(); ++i) {
        step();
        const Instruction& at = program[i];
        switch (at.code) {
          case Instruction::kLoad:
            value = load<uint64_t>(at.argument);
            break;
          case Instruction::kAdd:
            value += load<uint64_t>(at.argument);
            break;
          case Instruction::kStore:
            store<uint64_t>(at.argument, value);
            break;
          case Instruction::kToGlobal:
            store_to(&target_global, value);
            break;
          case Instruction::kFromGlobal:
            value = load_from(&target_global);
            break;
          case Instruction::kToHeap:
            store_to(old_heap, value);
            break;
          case Instruction::kFromHeap:
            value = load_from(old_heap);
            break;
          case Instruction::kGrow:
            grown = static_cast<uint64_t*>(std::malloc(16 + 16 * (value & 1)));
            break;
          case Instruction::kToGrown:
            if (grown != nullptr) store_to(grown, value);
            break;
          case Instruction::kFromGrown:
            if (grown != nullptr) value = load_from(grown);
            break;
          case Instruction::kSkipIfOdd:
            i += value & 1;
            break;
          case Instruction::kMask:
            value &= 1;
            break;
          case Instruction::kShow:
            answer(value);
            break;
          case Instruction::kExchange:
            value = exchange(at.argument, value);
            break;
          case Instruction::kWide:
            value = *static_cast<uint64_t*>(__powercut_load(powercut::testing::at(at.argument / 64 * 64 + 8), 64));
            break;
          case Instruction::kClear:
            value = 0;
            break;
          case Instruction::kCodes:
            break;
        }
      }
      answer(value);
    };
    const Answers slow = plainly(query);
    const auto fast = merged(query);
    ASSERT_TRUE(!fast || *fast == slow) << "program " << p << " of seed " << GetParam();
    complete += fast.has_value();
    joined += counts_.merged;
    executor_.memory().undo(start);
    executor_.memory().uninstall();
  }
  EXPECT_GT(complete, programs * 9 / 10);
  EXPECT_GT(joined, programs / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range<uint64_t>(1, 6));

}  // namespace
}  // namespace powercut
