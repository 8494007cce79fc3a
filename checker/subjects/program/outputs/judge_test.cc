#include "checker/subjects/program/outputs/judge.h"

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The outcome of a dump and probes that have printed these texts, one letter each.
ProgramOutcome printing(const std::string& letters) {
  ProgramOutcome out;
  for (uint32_t i = 0; i < letters.size(); ++i) {
    out.step = i == 0 ? ProgramStep{ProgramStep::Kind::kDump} : ProgramStep{ProgramStep::Kind::kProbe, i};
    const auto digest = static_cast<uint64_t>(letters[i]);
    out.printed.push_back({out.step, 1, {digest, 0}, {digest, 0}, std::string(1, letters[i])});
  }
  return out;
}

class Judge : public ::testing::Test {
 protected:
  Judge() {
    commands_.dump = testing::command(pools_, {"dump", "{image}"});
    for (int i = 0; i < 2; ++i) commands_.probes.push_back(testing::command(pools_, {"put", "{image}"}));
  }
  // `legal`: the outputs of the commands after the prefixes that are right.
  std::optional<ProgramViolation> judged(const ProgramOutcome& outcome,
                                         const std::vector<ProgramOutcome>& legal) const {
    std::vector<const ProgramOutcome*> right;
    for (const ProgramOutcome& one : legal) right.push_back(&one);
    return judge(outcome, right, ExpectedOutputs{}, Operations{}, commands_);
  }

  TracePools pools_ = testing::one_pool(4096);
  ProgramCommands commands_;
};

TEST_F(Judge, OnePrefixExplainsAllThatIsPrinted) {
  const std::vector<ProgramOutcome> legal = {printing("abc"), printing("xyz")};
  EXPECT_FALSE(judged(printing("abc"), legal));
  EXPECT_FALSE(judged(printing("xyz"), legal));
  const auto mixed = judged(printing("abz"), legal);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->invariant, "structure");
  EXPECT_EQ(name_of(mixed->step), "probe 2");
  EXPECT_THAT(mixed->expected, ElementsAre("c"));
  EXPECT_EQ(mixed->found, "z");
  EXPECT_TRUE(mixed->of_output);
  // The first step that is wrong is told of.
  EXPECT_EQ(name_of(judged(printing("qqq"), legal)->step), "dump");
  EXPECT_THAT(judged(printing("qqq"), legal)->expected, ElementsAre("a", "x"));
}

TEST_F(Judge, WhatAStepPrintsThatFailsWithNothingLostIsNotKnown) {
  ProgramOutcome fails = printing("a");
  fails.kind = ProgramOutcome::Kind::kExit;
  fails.step = {ProgramStep::Kind::kProbe, 1};
  EXPECT_FALSE(judged(printing("aqq"), {fails}));
  EXPECT_TRUE(judged(printing("bqq"), {fails}));
}

TEST_F(Judge, AFailureIsToldOfWhereAllThatWasPrintedBeforeIsRight) {
  ProgramOutcome dies = printing("ab");
  dies.kind = ProgramOutcome::Kind::kSignal;
  dies.code = 11;
  dies.step = {ProgramStep::Kind::kProbe, 2};
  dies.said = "oh";
  const auto failed = judged(dies, {printing("abc")});
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, "probe/SIGSEGV");
  EXPECT_FALSE(failed->of_output);
  EXPECT_THAT(failed->message, HasSubstr("Probe 2 ('"));
  EXPECT_THAT(failed->message, HasSubstr("put {image}'), after recovery, dies of SIGSEGV. It says: oh"));
  const auto wrong = judged(dies, {printing("axc")});
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->kind, "probe/other");
  EXPECT_EQ(name_of(wrong->step), "probe 1");
}

// Operation 12 was in flight and may be absent: what is missing is the line of operation 3.
TEST_F(Judge, AnOperationInFlightIsNotToldAsMissingWhereAnotherOneWasLost) {
  const auto dump = [](const std::string& text, uint64_t digest) {
    ProgramOutcome out = printing("a");
    out.printed[0] = {out.step, text.size(), {digest, 0}, {digest, 0}, text};
    return out;
  };
  const auto wrong = judged(dump("1=a\n2=b\n", 1), {dump("1=a\n2=b\n3=c\n", 2), dump("1=a\n2=b\n3=c\n12=m\n", 3)});
  ASSERT_TRUE(wrong);
  EXPECT_THAT(wrong->message, HasSubstr("'3=c' is missing."));
  EXPECT_EQ(wrong->nearest, 0u);
  const auto other =
      judged(dump("1=a\n2=b\n12=m\n", 1), {dump("1=a\n2=b\n3=c\n", 2), dump("1=a\n2=b\n3=c\n12=m\n", 3)});
  EXPECT_THAT(other->message, HasSubstr("'3=c' is missing."));
  EXPECT_EQ(other->nearest, 1u);
}

TEST(OutputDifference, TellsLinesThatWereRemovedAddedAndKept) {
  const auto marks = [](const OutputDifference& difference) {
    std::string out;
    for (const OutputLine& line : difference.lines()) out += line.mark + line.text + "|";
    return out;
  };
  EXPECT_EQ(marks(OutputDifference("a\nb\nc\n", "c\na\nx\n", false)), " a|-b| c|+x|");
  EXPECT_EQ(marks(OutputDifference("a\nb\nc\n", "a\nx\nc\n", true)), " a|-b|+x| c|");
  EXPECT_EQ(marks(OutputDifference("a\na\n", "a\na\na\n", false)), " a| a|+a|");
  EXPECT_EQ(OutputDifference("a\nb\n", "a\nx\n", true).sentence(), "from line 2 on, 'b' is missing, and there is 'x'");
  EXPECT_EQ(OutputDifference("a\nb\n", "b\nx\n", false).sentence(), "'a' is missing, and there is 'x'");
  EXPECT_EQ(OutputDifference("1\n2\n3\n4\n5\n", "", false).sentence(), "'1', '2', '3' and 2 more lines are missing");
}

TEST(OutputDifference, NoSentenceIsLong) {
  std::string expected, found;
  for (int i = 0; i < 50; ++i) {
    expected += std::string(2000, static_cast<char>('a' + i % 26)) + std::to_string(i) + "\n";
    found += std::string(2000, 'z') + std::to_string(i) + "\n";
  }
  EXPECT_LT(OutputDifference(expected, found, false).sentence().size(), 700u);
  EXPECT_EQ(shortened("ä" + std::string(100, 'x') + "ö", 4), "ä … ö");
}

}  // namespace
}  // namespace powercut
