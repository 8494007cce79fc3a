#include "tracer/runtime/threads/place_uses.h"

#include <gtest/gtest.h>

namespace powercut::runtime {
namespace {

constexpr uint64_t kPlace = 0x1000;

TEST(PlaceUses, TwoThreadsRaceForWhatOneOfThemChanges) {
  PlaceUses uses;
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  EXPECT_FALSE(uses.note(kPlace, 1, false));
  EXPECT_TRUE(uses.note(kPlace, 2, false));
  EXPECT_FALSE(uses.note(kPlace + 1, 2, true));
}

TEST(PlaceUses, ReadersDoNotRace) {
  PlaceUses uses;
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 1, false));
  EXPECT_FALSE(uses.note(kPlace, 2, false));
  // A change shows against a use of before.
  EXPECT_TRUE(uses.note(kPlace, 1, true));
}

TEST(PlaceUses, WhatCameBeforeAThreadWasCreatedIsBeforeAllThatItDoes) {
  PlaceUses uses;
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 2, true));
  // What its creator does afterwards is not.
  EXPECT_TRUE(uses.note(kPlace, 1, false));
}

TEST(PlaceUses, ACreatorsPastIsHandedOn) {
  PlaceUses uses;
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.created(1, 2);
  uses.created(2, 3);
  EXPECT_FALSE(uses.note(kPlace, 3, true));
  EXPECT_FALSE(uses.note(kPlace + 1, 2, true));
  EXPECT_TRUE(uses.note(kPlace + 1, 3, true));
}

TEST(PlaceUses, WhatAThreadDidIsBeforeWhoHasJoinedIt) {
  PlaceUses uses;
  uses.created(1, 2);
  uses.created(1, 3);
  EXPECT_FALSE(uses.note(kPlace, 2, true));
  uses.joined(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  EXPECT_TRUE(uses.note(kPlace, 3, false));
}

TEST(PlaceUses, WhoIsCreatedAfterAJoinKnowsOfIt) {
  PlaceUses uses;
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 2, true));
  uses.joined(1, 2);
  uses.created(1, 3);
  EXPECT_FALSE(uses.note(kPlace, 3, true));
}

TEST(PlaceUses, WhatALockGuardsDoesNotRace) {
  constexpr uint64_t kLock = 7;
  PlaceUses uses;
  uses.created(1, 2);
  uses.comes_behind(kLock, 1, true);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.comes_before(kLock, 1, true);
  uses.comes_behind(kLock, 2, true);
  EXPECT_FALSE(uses.note(kPlace, 2, true));
  uses.comes_before(kLock, 2, true);
  // Who does not take it, does not know.
  EXPECT_TRUE(uses.note(kPlace, 1, false));
}

TEST(PlaceUses, WhatCameBehindTheLockRaces) {
  constexpr uint64_t kLock = 7;
  PlaceUses uses;
  uses.created(1, 2);
  uses.comes_before(kLock, 1, true);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.comes_behind(kLock, 2, true);
  EXPECT_TRUE(uses.note(kPlace, 2, false));
}

TEST(PlaceUses, ReadersOfAFlagOrderNothingBetweenThem) {
  constexpr uint64_t kFlag = 8;
  PlaceUses uses;
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.comes_before(kFlag, 1, false);
  uses.comes_behind(kFlag, 2, false);
  EXPECT_TRUE(uses.note(kPlace, 2, true));
}

TEST(PlaceUses, AChangeOfAFlagComesBehindThoseThatHaveRead) {
  constexpr uint64_t kFlag = 8;
  PlaceUses uses;
  uses.created(1, 2);
  EXPECT_FALSE(uses.note(kPlace, 1, true));
  uses.comes_before(kFlag, 1, false);
  uses.comes_behind(kFlag, 2, true);
  EXPECT_FALSE(uses.note(kPlace, 2, true));
}

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
