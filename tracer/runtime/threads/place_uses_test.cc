#include "tracer/runtime/threads/place_uses.h"

#include <gtest/gtest.h>

#include <cctype>
#include <sstream>
#include <string>

namespace powercut::runtime {
namespace {

// A history, a step a word. `1>2`: thread 1 creates thread 2. `1<2`: thread 1 joins thread 2. `1w` and `1r`: thread 1
// changes or reads a place; `1W`: thread 1 changes another place. `1?w`: thread 1 comes behind the visible events at an
// object; `1!w`: before them; with `r` the thread does not change the object. `*` behind a use: the use races.
std::string played(const std::string& history) {
  constexpr uint64_t kObject = 7, kPlace = 0x1000;
  PlaceUses uses;
  std::string out;
  std::istringstream words(history);
  for (std::string word; words >> word;) {
    if (word.back() == '*') word.pop_back();
    const uint32_t thread = static_cast<uint32_t>(word[0] - '0');
    const char what = word[1];
    if (what == '>') uses.created(thread, static_cast<uint32_t>(word[2] - '0'));
    if (what == '<') uses.joined(thread, static_cast<uint32_t>(word[2] - '0'));
    if (what == '?') uses.comes_behind(kObject, thread, word[2] == 'w');
    if (what == '!') uses.comes_before(kObject, thread, word[2] == 'w');
    const bool other = what == 'W' || what == 'R';
    if (isalpha(what) != 0 && uses.note(kPlace + (other ? 1 : 0), thread, tolower(what) == 'w')) word += '*';
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

#define EXPECT_HISTORY(history) EXPECT_EQ(played(history), history)

TEST(PlaceUses, TwoThreadsRaceForWhatOneOfThemChanges) { EXPECT_HISTORY("1>2 1w 1r 2r* 2W"); }

TEST(PlaceUses, ReadersDoNotRace) {
  // A change races with an earlier use.
  EXPECT_HISTORY("1>2 1r 2r 1w*");
}

TEST(PlaceUses, WhatCameBeforeAThreadWasCreatedIsBeforeAllThatItDoes) {
  // A later use by the creator is not ordered before the created thread's.
  EXPECT_HISTORY("1w 1>2 2w 1r*");
}

TEST(PlaceUses, ACreatorsPastIsHandedOn) { EXPECT_HISTORY("1w 1>2 2>3 3w 2W 3W*"); }

TEST(PlaceUses, WhatAThreadDidIsBeforeWhoHasJoinedIt) { EXPECT_HISTORY("1>2 1>3 2w 1<2 1w 3r*"); }

TEST(PlaceUses, WhoIsCreatedAfterAJoinKnowsOfIt) { EXPECT_HISTORY("1>2 2w 1<2 1>3 3w"); }

TEST(PlaceUses, WhatALockGuardsDoesNotRace) {
  // A thread that does not take the lock is not ordered behind the other uses.
  EXPECT_HISTORY("1>2 1?w 1w 1!w 2?w 2w 2!w 1r*");
}

TEST(PlaceUses, WhatCameBehindTheLockRaces) { EXPECT_HISTORY("1>2 1!w 1w 2?w 2r*"); }

TEST(PlaceUses, ReadersOfAFlagOrderNothingBetweenThem) { EXPECT_HISTORY("1>2 1w 1!r 2?r 2w*"); }

TEST(PlaceUses, AChangeOfAFlagComesBehindThoseThatHaveRead) { EXPECT_HISTORY("1>2 1w 1!r 2?w 2w"); }

TEST(PlaceSet, GrowsAndForgetsNothing) {
  PlaceSet set;
  for (uint64_t place = 1; place <= 5000; ++place) EXPECT_TRUE(set.add(place * 8));
  for (uint64_t place = 1; place <= 5000; ++place) {
    EXPECT_FALSE(set.add(place * 8));
    EXPECT_FALSE(set.holds(place * 8 + 1));
  }
}

}  // namespace
}  // namespace powercut::runtime
