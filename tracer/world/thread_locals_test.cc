#include "tracer/world/thread_locals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>

#include "tracer/runtime/threads/tests/threads_subject.h"

namespace powercut {
namespace {

thread_local int of_this_program = 5;

bool listed(const void* address) {
  const std::vector<ThreadLocals> all = thread_locals();
  return std::ranges::any_of(
      all, [&](const ThreadLocals& one) { return one.range.holds(reinterpret_cast<uint64_t>(address), 1); });
}

TEST(ThreadLocals, ErrnoIsTheCallingThreadsOwn) {
  EXPECT_TRUE(listed(&errno));
  const int* here = &errno;
  std::thread([&] {
    EXPECT_TRUE(listed(&errno));
    EXPECT_FALSE(listed(here));
  }).join();
}

TEST(ThreadLocals, TheEnginesOwnAreNotTheTargets) { EXPECT_FALSE(listed(&of_this_program)); }

TEST(ThreadLocals, ThoseOfInstrumentedCodeAreListedWithTheirFirstValues) {
  int& value = subject::thread_local_value();
  EXPECT_EQ(value, 42);
  const auto at = reinterpret_cast<uint64_t>(&value);
  value = 7;
  bool found = false;
  for (const ThreadLocals& one : thread_locals()) {
    if (!one.range.holds(at, sizeof value)) continue;
    found = true;
    const auto* first = reinterpret_cast<const int*>(one.initial.begin + (at - one.range.begin));
    EXPECT_TRUE(one.initial.holds(reinterpret_cast<uint64_t>(first), sizeof value));
    EXPECT_EQ(*first, 42);
  }
  EXPECT_TRUE(found);
  value = 42;
}

TEST(ThreadLocals, AThreadThatHasTouchedNothingHasThemAll) {
  std::thread([] {
    const size_t count = thread_locals().size();
    const auto at = reinterpret_cast<uint64_t>(&subject::thread_local_value());
    EXPECT_TRUE(listed(reinterpret_cast<void*>(at)));
    EXPECT_EQ(thread_locals().size(), count);
  }).join();
}

// libstdc++ keeps two words about exceptions, and a thread begins with zeroes there.
TEST(ThreadLocals, ExceptionsThatAreHandledBelongToTheThread) {
  const auto sum = [] {
    uint64_t out = 0;
    for (const ThreadLocals& one : thread_locals()) {
      if (one.range.holds(reinterpret_cast<uint64_t>(&errno), 1)) continue;
      for (uint64_t at = one.range.begin; at < one.range.end; ++at) out += *reinterpret_cast<const uint8_t*>(at);
    }
    return out;
  };
  const uint64_t before = sum();
  try {
    throw 1;
  } catch (int) {
    EXPECT_NE(sum(), before);
  }
  EXPECT_EQ(sum(), before);
}

}  // namespace
}  // namespace powercut
