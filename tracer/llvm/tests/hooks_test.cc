// Calls that a listener gets from instrumented code: the side of the contract that a trace does not show (loads, steps,
// order of hook and access).
#include "tracer/runtime/hooks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tracer/llvm/tests/hooks_subject.h"
#include "tracer/runtime/thread_hooks.h"

namespace powercut {
namespace {

using Lines = std::vector<std::string>;

class HooksTest : public testing::Test {
 protected:
  void SetUp() override {
    memset(pool_, 0, sizeof pool_);
    powercut_sink sink{};
    sink.self = this;
    sink.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void*,
                    const void*) {
      auto& test = *static_cast<HooksTest*>(self);
      uint64_t word = 0;
      memcpy(&word, value, size < 8 ? size : 8);
      test.say("store", addr, size);
      test.heard_.back() += " = " + std::to_string(word);
      if ((flags & POWERCUT_STORE_MEMCALL) != 0) test.heard_.back() += " memcall";
      if ((flags & POWERCUT_STORE_CONTINUES) != 0) test.heard_.back() += " continues";
      if (test.veto_) longjmp(test.leave_, 1);
    };
    sink.load = [](void* self, uint64_t addr, uint64_t size) {
      auto& test = *static_cast<HooksTest*>(self);
      test.say("load", addr, size);
      // A listener may decide bytes at the last moment.
      if (test.fill_ != 0) memset(reinterpret_cast<void*>(addr), test.fill_, size);
      if (test.terminate_after_ != 0 && --test.terminate_after_ == 0) *reinterpret_cast<char*>(addr) = '\0';
    };
    sink.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void*, const void*) {
      static_cast<HooksTest*>(self)->say("rmw", addr, size);
    };
    sink.rmw_end = [](void* self, uint64_t addr, uint64_t size, uint32_t stored, const void*, const void*) {
      static_cast<HooksTest*>(self)->say(stored != 0 ? "stored" : "not stored", addr, size);
    };
    sink.flush = [](void* self, uint64_t addr, uint32_t, const void*, const void*) {
      static_cast<HooksTest*>(self)->say("flush", addr, 0);
    };
    sink.fence = [](void* self, uint32_t kind, const void*, const void*) {
      static_cast<HooksTest*>(self)->heard_.push_back("fence " + std::to_string(kind));
    };
    sink.out_of_steps = [](void* self, const uint64_t*) { ++static_cast<HooksTest*>(self)->out_of_steps_; };
    powercut_set_sink(&sink);
    __powercut_store_window = __powercut_load_window = {reinterpret_cast<uint64_t>(pool_), sizeof pool_};
  }

  void TearDown() override {
    __powercut_alias = {0, 0, 0};
    powercut_set_sink(nullptr);
    __powercut_store_window = __powercut_load_window = {0, 0};
    __powercut_steps = INT64_MAX;
    __powercut_real_flush = 1;
  }

  void say(const char* what, uint64_t addr, uint64_t size) {
    std::string line = std::string(what) + " " + std::to_string(addr - reinterpret_cast<uint64_t>(pool_));
    if (size != 0) line += " " + std::to_string(size);
    heard_.push_back(std::move(line));
  }

  alignas(1024) char pool_[4096];  // so that a long memset has the same pieces everywhere
  Lines heard_;
  int fill_ = 0;
  int terminate_after_ = 0;
  int out_of_steps_ = 0;
  bool veto_ = false;
  jmp_buf leave_;
};

TEST_F(HooksTest, LoadsAreAnnouncedBeforeTheyHappen) {
  fill_ = 0x5a;
  EXPECT_EQ(subject::load(reinterpret_cast<uint64_t*>(pool_ + 8)), 0x5a5a5a5a5a5a5a5au);
  EXPECT_EQ(subject::load_byte(reinterpret_cast<uint8_t*>(pool_ + 77)), 0x5a);
  EXPECT_EQ(heard_, (Lines{"load 8 8", "load 77 1"}));
}

TEST_F(HooksTest, NothingOutsideTheWindowIsAnnounced) {
  uint64_t elsewhere = 5;
  EXPECT_EQ(subject::load(&elsewhere), 5u);
  subject::store(&elsewhere, 6);
  EXPECT_EQ(heard_, Lines{});
}

TEST_F(HooksTest, AClosedWindowIsSilentAndAnOpenOneHearsEverything) {
  __powercut_store_window = {0, 0};
  subject::store(reinterpret_cast<uint64_t*>(pool_), 1);
  EXPECT_EQ(heard_, Lines{});
  __powercut_store_window = {0, UINT64_MAX};
  uint64_t elsewhere = 0;
  subject::store(&elsewhere, 7);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_NE(heard_[0].find("= 7"), std::string::npos);
}

TEST_F(HooksTest, OwnStackIsNotAnnounced) {
  __powercut_store_window = __powercut_load_window = {0, UINT64_MAX};
  EXPECT_EQ(subject::own_stack(9), 9u);
  EXPECT_EQ(heard_, Lines{});
}

TEST_F(HooksTest, AStoreCanBeVetoed) {
  auto* word = reinterpret_cast<uint64_t*>(pool_);
  veto_ = true;
  if (setjmp(leave_) == 0) {
    subject::store(word, 1);
    FAIL() << "the listener left by longjmp";
  }
  EXPECT_EQ(*word, 0u);
  EXPECT_EQ(heard_, Lines{"store 0 8 = 1"});
}

TEST_F(HooksTest, ReadModifyWrites) {
  auto* word = reinterpret_cast<uint64_t*>(pool_);
  subject::add(word, 3);
  EXPECT_TRUE(subject::exchange_if(word, 3, 4));
  EXPECT_FALSE(subject::exchange_if(word, 3, 5));
  uint64_t elsewhere = 0;
  subject::add(&elsewhere, 1);
  EXPECT_EQ(heard_, (Lines{"rmw 0 8", "stored 0 8", "rmw 0 8", "stored 0 8", "rmw 0 8", "not stored 0 8", "fence 3"}));
  EXPECT_EQ(*word, 4u);
}

TEST_F(HooksTest, AReadModifyWriteInTheLoadWindowAloneIsALoadAndAFence) {
  __powercut_store_window = {0, 0};
  subject::add(reinterpret_cast<uint64_t*>(pool_ + 16), 1);
  EXPECT_EQ(heard_, (Lines{"load 16 8", "fence 3"}));
}

TEST_F(HooksTest, CopiesLoadBeforeTheyStore) {
  fill_ = 1;
  subject::copy(pool_ + 512, pool_ + 64, 100);
  EXPECT_EQ(heard_, (Lines{"load 64 100", "store 512 100 = 72340172838076673 memcall"}));
  heard_.clear();
  subject::load_pair(reinterpret_cast<subject::Sixteen*>(pool_ + 128));
  ASSERT_FALSE(heard_.empty());
  EXPECT_EQ(heard_[0].substr(0, 8), "load 128");
}

TEST_F(HooksTest, PiecesOfOneStoreContinueIt) {
  subject::fill(pool_ + 1024, 0, 2048);
  EXPECT_EQ(heard_, (Lines{"store 1024 1024 = 0 memcall", "store 2048 1024 = 0 memcall continues"}));
  heard_.clear();
  __powercut_store_window.base += 1024;  // the first piece is nobody's
  subject::fill(pool_, 0, 2048);
  EXPECT_EQ(heard_, Lines{"store 1024 1024 = 0 memcall"});
  __powercut_store_window.base -= 1024;
  heard_.clear();
  subject::copy_text(pool_, "ab", 5);
  EXPECT_EQ(heard_, (Lines{"store 0 2 = 25185 memcall", "store 2 3 = 0 memcall continues"}));
  heard_.clear();
  subject::copy_text(pool_, "", 3);
  EXPECT_EQ(heard_, Lines{"store 0 3 = 0 memcall"});
  heard_.clear();
  subject::append_text(pool_, "cd", 2);
  EXPECT_EQ(heard_.back(), "store 2 1 = 0 memcall continues");
}

TEST_F(HooksTest, CopiesThatStraddleTheWindowAreAnnouncedWhole) {
  char before[64] = {};
  __powercut_store_window = {reinterpret_cast<uint64_t>(pool_ + 100), 50};
  subject::copy(pool_ + 60, before, 64);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].substr(0, 11), "store 60 64");
}

TEST_F(HooksTest, StringsAreReadByteByByteAsFarAsTheyGo) {
  fill_ = 'a';
  terminate_after_ = 4;  // the listener decides that the fourth byte ends the string
  EXPECT_EQ(subject::length(pool_), 3u);
  EXPECT_EQ(heard_, (Lines{"load 0 1", "load 1 1", "load 2 1", "load 3 1"}));
}

TEST_F(HooksTest, ComparisonsStopAtTheFirstDifference) {
  strcpy(pool_, "abX");
  EXPECT_GT(0, subject::compare(pool_, "abc"));
  EXPECT_EQ(heard_, (Lines{"load 0 1", "load 1 1", "load 2 1"}));
  heard_.clear();
  EXPECT_GT(0, subject::compare_bytes(pool_, "abcdefgh", 8));
  ASSERT_FALSE(heard_.empty());
  EXPECT_EQ(heard_[0], "load 0 8");
}

TEST_F(HooksTest, PrintedStringsAreLoaded) {
  strcpy(pool_, "abcdef");
  EXPECT_EQ(subject::print_length(pool_), 5);
  EXPECT_EQ(heard_, (Lines{"load 0 1", "load 1 1", "load 2 1"}));
}

TEST_F(HooksTest, GathersLoadTheirActiveLanes) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor lacks avx2";
  auto* numbers = reinterpret_cast<int*>(pool_);
  numbers[5] = 50;
  numbers[9] = 90;
  EXPECT_EQ(subject::gather_sum(numbers, 9, 5), 140);
  EXPECT_EQ(heard_, (Lines{"load 36 4", "load 20 4"}));
}

TEST_F(HooksTest, AccessesGoWhereTheHookSays) {
  alignas(64) static char there[sizeof pool_];
  const auto from = reinterpret_cast<uint64_t>(pool_);
  __powercut_alias = {from, sizeof pool_, reinterpret_cast<uint64_t>(there) - from};
  auto* words = reinterpret_cast<uint64_t*>(pool_);
  auto* kept = reinterpret_cast<uint64_t*>(there);
  subject::store(words, 7);
  EXPECT_EQ(subject::load(words), 7u);
  EXPECT_EQ(subject::add(words, 3), 7u);
  EXPECT_TRUE(subject::exchange_if(words, 10, 20));
  EXPECT_FALSE(subject::exchange_if(words, 10, 30));
  EXPECT_EQ(kept[0], 20u);
  kept[1] = 21;
  EXPECT_EQ(subject::load_byte(reinterpret_cast<uint8_t*>(words + 1)), 21);
  const subject::Sixteen pair = subject::load_pair(reinterpret_cast<subject::Sixteen*>(pool_));
  EXPECT_EQ(memcmp(&pair, there, sizeof pair), 0);
  strcpy(there + 64, "abcX");
  subject::copy(pool_ + 128, pool_ + 64, 33);
  EXPECT_EQ(memcmp(there + 128, there + 64, 33), 0);
  EXPECT_EQ(subject::length(pool_ + 128), 4u);
  EXPECT_GT(0, subject::compare(pool_ + 128, "abcd"));
  EXPECT_EQ(subject::compare_bytes(pool_ + 128, "abcX", 4), 0);
  if (__builtin_cpu_supports("avx2")) {
    auto* numbers = reinterpret_cast<int*>(there + 256);
    numbers[5] = 50;
    numbers[9] = 90;
    EXPECT_EQ(subject::gather_sum(reinterpret_cast<int*>(pool_ + 256), 9, 5), 140);
  }
  __powercut_alias = {0, 0, 0};
  EXPECT_TRUE(std::all_of(pool_, pool_ + sizeof pool_, [](char byte) { return byte == 0; }));
}

TEST_F(HooksTest, LoopsAndEntriesTakeSteps) {
  __powercut_steps = 1000;
  subject::loop(100);
  EXPECT_EQ(out_of_steps_, 0);
  EXPECT_LE(__powercut_steps, 900);
  EXPECT_GE(__powercut_steps, 890);
  __powercut_steps = 10;
  subject::loop(100);
  EXPECT_EQ(out_of_steps_, 1);
}

TEST_F(HooksTest, APauseIsATurnOfAWaitingLoop) {
  struct Turn {
    const uint64_t* live;
    int code;
    uint64_t caller;
  };
  std::vector<Turn> turns;
  const auto hear = [](void* self, const uint64_t* live) {
    const int code = powercut_code(reinterpret_cast<const void*>(live[6]));
    static_cast<std::vector<Turn>*>(self)->push_back({live, code, live[6]});
  };
  __powercut_steps = 1000;
  subject::pause(5);
  const int64_t left = __powercut_steps;
  __powercut_scheduler.self = &turns;
  __powercut_scheduler.pause = hear;
  __powercut_steps = 1000;
  subject::pause(5);
  subject::pause_in_asm();
  __powercut_scheduler = {};
  EXPECT_EQ(__powercut_steps, left - 1) << "a pause takes no step; the second function's entry does";
  ASSERT_EQ(turns.size(), 6u);
  EXPECT_EQ(turns[0].code, POWERCUT_INSTRUMENTED);
  // Two turns of a loop stand at one place with one stack.
  EXPECT_EQ(turns[1].live, turns[2].live);
  EXPECT_EQ(turns[1].caller, turns[2].caller);
  EXPECT_NE(turns[4].caller, turns[5].caller);
  EXPECT_EQ(heard_, Lines{});
}

TEST_F(HooksTest, HooksSayWhereTheCodeStands) {
  auto* word = reinterpret_cast<uint64_t*>(pool_);
  uint64_t live[7] = {};
  const auto place = [&](const std::function<void()>& call) {
    std::fill(std::begin(live), std::end(live), 0);
    powercut_keep_live(live);
    call();
    powercut_keep_live(nullptr);
    return live[6];
  };
  uint64_t here = 0;
  const auto in_code = [&](const std::function<void()>& call) {
    const uint64_t stack = place(call);
    const auto own = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    return stack != 0 && stack < own && own - stack < 4096;
  };
  EXPECT_TRUE(in_code([&] { here = subject::load(word); }));
  EXPECT_TRUE(in_code([&] { subject::store(word, 3); }));
  EXPECT_TRUE(in_code([&] { subject::add(word, 3); }));
  EXPECT_TRUE(in_code([&] { subject::flush_and_fence(word); }));
  // In a function of the runtime it is not the code that calls the hook.
  EXPECT_EQ(place([&] { subject::copy(pool_, "0123456789", 10); }), 0u);
  subject::store(word, here);
  EXPECT_EQ(*word, here) << "the hooks work without a listener's place as well";
}

TEST_F(HooksTest, TheTimeStampCounterIsWhatTheListenerSays) {
  const uint64_t before = subject::cycles_by_asm();
  EXPECT_LT(before, subject::cycles());  // the real one goes on
  powercut_world_cycles = [](uint64_t real) { return real == 0 ? uint64_t{0} : uint64_t{0x1122334455667788}; };
  EXPECT_EQ(subject::cycles(), 0x1122334455667788u);
  EXPECT_EQ(subject::cycles_by_asm(), 0x1122334455667788u);
  powercut_world_cycles = nullptr;
}

TEST_F(HooksTest, RealFlushesRunOnlyWhenAsked) {
  // No memory there: a real flush would end the process.
  const void* nowhere = reinterpret_cast<void*>(64);
  __powercut_real_flush = 0;
  subject::flush_and_fence(nowhere);
  subject::flush_in_asm(nowhere);
  EXPECT_EQ(heard_.size(), 4u);
  EXPECT_EQ(heard_[1], "fence 1");
  __powercut_real_flush = 1;
  EXPECT_DEATH(subject::flush_and_fence(nowhere), "");
  EXPECT_DEATH(subject::flush_in_asm(nowhere), "");
}

TEST(Externals, NamesWhatWasNotInstrumented) {
  std::vector<const char*> names(powercut_externals(nullptr, 0));
  powercut_externals(names.data(), static_cast<uint32_t>(names.size()));
  const std::vector<std::string> all(names.begin(), names.end());
  EXPECT_EQ(all, (std::vector<std::string>{"an_unknown_function", "asm: rep movsb"}));
}

TEST(Stack, StaysWithinTheRange) {
  uint64_t frames[8];
  const void* here = __builtin_frame_address(0);
  EXPECT_GE(powercut_stack(frames, here, frames, 8), 2u);
  powercut_stack_range(static_cast<const char*>(here) - 4096, here);
  EXPECT_EQ(powercut_stack(frames, here, frames, 8), 1u);
  powercut_stack_range(nullptr, nullptr);
  EXPECT_GE(powercut_stack(frames, here, frames, 8), 2u);
  EXPECT_EQ(powercut_stack(frames, nullptr, frames, 8), 1u);
  EXPECT_EQ(powercut_stack(frames, reinterpret_cast<void*>(1), frames, 8), 1u);
  EXPECT_EQ(powercut_stack(frames, here, frames, 0), 0u);
}

}  // namespace
}  // namespace powercut
