#include "checker/program/judge.h"

#include "checker/program/test_files.h"
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
  // `legal`: what the commands print after the prefixes that are right.
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

}  // namespace
}  // namespace powercut
