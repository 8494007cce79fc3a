// Accesses of the pool that call no hook: each is seen all the same, modelled like a hooked one, and undone.
#include "tracer/world/pool_traps.h"

#include <gtest/gtest.h>
#include <immintrin.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "replayer/executor/executor_fixture.h"
#include "tracer/runtime/watch_hooks.h"

namespace powercut {
namespace {

using testing::at;
using testing::content;
using testing::line_set;
using testing::store_to;

// The compiler must neither see through them nor put its own code in their place.
int (*volatile compare)(const void*, const void*, size_t) = std::memcmp;
void* (*volatile copy)(void*, const void*, size_t) = std::memcpy;
void* (*volatile fill)(void*, int, size_t) = std::memset;
size_t (*volatile length)(const char*) = std::strlen;

struct Heard : PathListener {
  std::vector<std::string> lines;
  void read(uint64_t word, uint8_t, uint64_t) override { lines.push_back("read " + std::to_string(word)); }
  void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace) override {
    lines.push_back("store " + std::to_string(offset) + " " + std::to_string(bytes.size()) +
                    ((flags & POWERCUT_STORE_NT) != 0 ? " nt" : "") +
                    ((flags & POWERCUT_STORE_RMW) != 0 ? " rmw" : ""));
  }
  void flush(uint64_t offset, FlushKind) override { lines.push_back("flush " + std::to_string(offset)); }
  void fence() override { lines.push_back("fence"); }
};

class PoolTraps : public testing::ExecutorFixture {
 protected:
  PoolTraps() : ExecutorFixture(1'000'000) {}

  std::vector<std::string> heard(const std::function<void()>& body) {
    Heard listener;
    const Outcome outcome = executor_.run_listened(&listener, body);
    EXPECT_TRUE(outcome.returned()) << outcome.text;
    return listener.lines;
  }
};

TEST_F(PoolTraps, LibcThroughAPointerBranchesOnUndecidedBytes) {
  const LineSet set = line_set(0, {content({1, 7}), content({1, 8}), content({2, 8})});
  executor_.memory().install({&set});
  const uint64_t wanted[2] = {1, 8};
  const auto found = paths([&] { return static_cast<uint64_t>(compare(at(0), wanted, 16) == 0); });
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 1);
  EXPECT_GT(found.size(), 1u);
  EXPECT_EQ(paths([&] {
              uint64_t out = 0;
              copy(&out, at(0), 8);
              return out;
            }),
            (std::vector<uint64_t>{1, 2}));
  executor_.memory().uninstall();
}

TEST_F(PoolTraps, StringsAndPlainLoadsAreSeen) {
  const LineSet set = line_set(1, {content({0x6161}), content({0x616161})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return length(reinterpret_cast<const char*>(at(64))); }), (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(paths([] { return *reinterpret_cast<volatile uint64_t*>(at(64)); }),
            (std::vector<uint64_t>{0x6161, 0x616161}));
  executor_.memory().uninstall();
}

TEST_F(PoolTraps, StoresOfAllSizesAreSeenAndUndone) {
  for (const size_t size : {1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 255, 1000, 5000}) {
    SCOPED_TRACE(size);
    const UndecidedMemory::Mark start = executor_.memory().mark();
    std::vector<uint8_t> value(size);
    for (size_t i = 0; i < size; ++i) value[i] = static_cast<uint8_t>(i * 7 + 1);
    EXPECT_TRUE(run([&] { copy(at(4093), value.data(), size); }).returned());
    EXPECT_EQ(std::memcmp(executor_.pool() + 4093, value.data(), size), 0);
    EXPECT_EQ(executor_.pool()[4092], 0);
    EXPECT_EQ(executor_.pool()[4093 + size], 0);
    EXPECT_TRUE(run([&] { fill(at(4095), 9, size); }).returned());
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(executor_.pool()[4095 + i], 9);
    EXPECT_TRUE(run([&] { copy(at(9000), at(4095), size); }).returned());
    EXPECT_EQ(std::memcmp(executor_.pool() + 9000, executor_.pool() + 4095, size), 0);
    executor_.memory().undo(start);
    EXPECT_TRUE(std::all_of(executor_.pool(), executor_.pool() + 65536, [](uint8_t byte) { return byte == 0; }));
  }
  EXPECT_FALSE(pool_was_written_around(65536));
}

TEST_F(PoolTraps, InstructionsAreHeardAsHooksWouldSayThem) {
  auto* word = reinterpret_cast<uint64_t*>(at(128));
  EXPECT_EQ(heard([=] { *reinterpret_cast<volatile uint64_t*>(word) = 5; }), (std::vector<std::string>{"store 128 8"}));
  EXPECT_EQ(heard([=] { __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST); }),
            (std::vector<std::string>{"fence", "read 128", "store 128 8 rmw"}));
  EXPECT_EQ(heard([=] {
              uint64_t expected = 77;
              __atomic_compare_exchange_n(word, &expected, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
            }),
            (std::vector<std::string>{"fence", "read 128"}));
  EXPECT_EQ(heard([=] {
              _mm_stream_si64(reinterpret_cast<long long*>(word), 3);
              _mm_sfence();
            }),
            (std::vector<std::string>{"store 128 8 nt", "fence"}));
  EXPECT_EQ(heard([=] {
              *reinterpret_cast<volatile uint64_t*>(word) = 6;
              _mm_clflush(word);
              for (int i = 0; i < 3; ++i) asm volatile("pause");
              _mm_sfence();
              _mm_sfence();  // not followed to
            }),
            (std::vector<std::string>{"store 128 8", "flush 128", "fence"}));
  // Right behind the flush.
  EXPECT_EQ(heard([=] {
              asm volatile("clflush (%0)\n\tsfence" : : "r"(word) : "memory");
            }),
            (std::vector<std::string>{"flush 128", "fence"}));
  EXPECT_EQ(heard([=] {
              void* to = word;
              uint64_t turns = 100;
              asm volatile("rep stosb" : "+D"(to), "+c"(turns) : "a"(3) : "memory");
            }),
            (std::vector<std::string>{"store 128 100"}));
}

[[gnu::target("avx512f,avx512bw,avx512vl")]] void store_masked(uint8_t* to, uint64_t mask) {
  _mm512_mask_storeu_epi8(to, mask, _mm512_set1_epi8(0));
}

TEST_F(PoolTraps, AStoreUnderAMaskIsHeardWithItsActiveLanesAlone) {
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "this processor lacks avx512bw";
  // The store puts zeroes over zeroes: memory does not show which lanes were stored.
  EXPECT_EQ(heard([] { store_masked(at(256), 0xf00f); }), (std::vector<std::string>{"store 256 4", "store 268 4"}));
}

TEST_F(PoolTraps, AMutexThatIsTakenIsWaitedForForEver) {
  auto* mutex = reinterpret_cast<pthread_mutex_t*>(at(512));
  const Outcome free = run([=] {
    EXPECT_EQ(pthread_mutex_lock(mutex), 0);
    EXPECT_EQ(pthread_mutex_trylock(mutex), EBUSY);
  });
  EXPECT_TRUE(free.returned());
  const Outcome taken = run([] { __powercut_watch.blocked(reinterpret_cast<void*>(~uint64_t{0}), nullptr); });
  EXPECT_EQ(taken.kind, Outcome::Kind::kSteps);
}

TEST_F(PoolTraps, WhatCannotBeFollowedIsUnknownAndLeavesNothing) {
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const Outcome outcome = run([] {
    store_to(reinterpret_cast<uint64_t*>(at(0)), uint64_t{5});
    alignas(64) static uint8_t area[512];
    asm volatile("fxsave %0" : "=m"(*reinterpret_cast<uint8_t(*)[512]>(at(1024))) : : "memory");
    area[0] = 1;
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kUnknown);
  EXPECT_NE(outcome.text.find("fxsave"), std::string::npos) << outcome.text;
  EXPECT_FALSE(executor_.runner().doubts().empty());
  executor_.memory().undo(start);
  EXPECT_FALSE(pool_was_written_around(65536));
  EXPECT_EQ(executor_.pool()[0], 0);
  EXPECT_TRUE(run([] { copy(at(0), "x", 1); }).returned()) << "the next execution is as good as ever";
}

TEST_F(PoolTraps, AStoreAcrossThePoolsEndIsWild) {
  const Outcome outcome = run([] { *reinterpret_cast<volatile uint64_t*>(at(65536 - 4)) = 1; });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kWildStore);
}

TEST_F(PoolTraps, TheKernelsWayAroundIsNoticed) {
  EXPECT_FALSE(pool_was_written_around(65536));
  FILE* memory = std::fopen("/proc/self/mem", "r+");  // nothing runs: it is not refused
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(std::fseek(memory, static_cast<long>(kPoolBase + 100), SEEK_SET), 0);
  ASSERT_EQ(std::fwrite("x", 1, 1, memory), 1u);
  std::fclose(memory);
  EXPECT_TRUE(pool_was_written_around(65536));
}

}  // namespace
}  // namespace powercut
