// Every row has the roles that its kind needs, and names a call that the kernel has under this number. The house test
// tests/house/test_file_calls.py holds that each tracer handles the rows.
#include "tracer/file_calls/file_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstring>
#include <string>
#include <string_view>

namespace powercut {
namespace {

constexpr long kNumbers[] = {
#define POWERCUT_ROW(name, number, does, arguments) SYS_##name,
    POWERCUT_FILE_CALLS(POWERCUT_ROW)
#undef POWERCUT_ROW
};

TEST(FileCalls, HaveTheNumbersOfTheKernelAndOneRowEach) {
  for (int i = 0; i < kPowercutFileCalls; ++i) {
    const powercut_file_call& call = powercut_file_calls[i];
    EXPECT_EQ(call.number, kNumbers[i]) << call.name;
    EXPECT_EQ(powercut_file_call_of(call.number), &call) << call.name;
    if (i > 0) {
      EXPECT_LT(powercut_file_calls[i - 1].number, call.number) << call.name;
    }
  }
}

TEST(FileCalls, HaveWholeNamesAndKnownRoles) {
  for (const powercut_file_call& call : powercut_file_calls) {
    EXPECT_NE(memchr(call.name, '\0', sizeof call.name), nullptr);
    EXPECT_NE(memchr(call.arguments, '\0', sizeof call.arguments), nullptr) << call.name;
    EXPECT_NE(call.does, kPowercutNoFileCall) << call.name;
    const std::string_view roles = call.arguments;
    EXPECT_EQ(roles.find_first_not_of("dsFpGqbvnwoiezalr-"), std::string_view::npos) << call.name;
    for (const char role : roles) {
      EXPECT_TRUE(role == '-' || roles.find(role) == roles.rfind(role)) << call.name << " has two of " << role;
    }
  }
}

// Returns the roles that a tracer takes for granted in a call of this kind.
std::string_view needed(int does) {
  switch (does) {
    case kPowercutReads:
    case kPowercutWrites:
      return "dn";
    case kPowercutCopies:
      return "dsin";
    case kPowercutAllocates:
      return "dlon";
    case kPowercutSyncs:
    case kPowercutSeeks:
    case kPowercutCloses:
    case kPowercutLists:
      return "d";
    case kPowercutSyncsRange:
      return "don";
    case kPowercutResizes:
      return "z";
    case kPowercutSyncsMemory:
    case kPowercutUnmaps:
      return "an";
    case kPowercutProtects:
      return "anr";
    case kPowercutMaps:
      return "anrldo";
    case kPowercutRemaps:
      return "awnl";
    case kPowercutControls:
      return "dr";
    case kPowercutOpens:
    case kPowercutMakes:
    case kPowercutTakes:
    case kPowercutTakesFolder:
    case kPowercutLooks:
    case kPowercutLooksAtLink:
    case kPowercutExecutes:
      return "p";
    case kPowercutLinks:
    case kPowercutRenames:
      return "pq";
    default:
      return "";
  }
}

TEST(FileCalls, HaveTheRolesOfWhatTheyDo) {
  for (const powercut_file_call& call : powercut_file_calls) {
    for (const char role : needed(call.does)) EXPECT_GE(powercut_argument(&call, role), 0) << call.name << " " << role;
    const bool moves = call.does == kPowercutReads || call.does == kPowercutWrites;
    EXPECT_EQ(moves, moves && (powercut_argument(&call, 'b') == 1) != (powercut_argument(&call, 'v') == 1))
        << call.name;
    EXPECT_EQ(powercut_argument(&call, 'G') >= 0,
              powercut_argument(&call, 'F') >= 0 && powercut_argument(&call, 'q') >= 0)
        << call.name;
  }
  const powercut_file_call* const resizes = powercut_file_call_of(SYS_truncate);
  EXPECT_EQ(powercut_argument(resizes, 'p'), 0);
  EXPECT_EQ(powercut_argument(resizes, 'd'), -1);
}

TEST(FileCalls, OtherCallsHaveNoRow) {
  EXPECT_EQ(powercut_file_call_of(SYS_getpid), nullptr);
  EXPECT_EQ(powercut_file_call_of(0x40000001), nullptr);
  EXPECT_EQ(powercut_call_does_what(nullptr), kPowercutNoFileCall);
}

}  // namespace
}  // namespace powercut
