#include "tracer/world/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace powercut {
namespace {

struct Free {
  void* block;
  uint64_t size;
  bool again;
  bool operator==(const Free&) const = default;
};

class ArenaTest : public testing::Test {
 protected:
  void SetUp() override {
    constexpr size_t kSize = 1 << 20;
    memory_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    const auto begin = reinterpret_cast<uint64_t>(memory_);
    before_ = arena;
    arena = {.begin = begin, .end = begin + kSize, .top = begin, .high = begin, .floor = begin, .last = 0};
    frees_.reserve(16);  // the events come while the target's heap is on
  }
  void TearDown() override {
    arena_events = {};
    munmap(memory_, arena.end - arena.begin);
    arena = before_;
  }
  void listen(bool keep_freed) {
    arena_events.self = this;
    arena_events.keep_freed = keep_freed;
    arena_events.freed = [](void* self, uint64_t address, uint64_t size, const void*, const void*) {
      static_cast<ArenaTest*>(self)->frees_.push_back({reinterpret_cast<void*>(address), size, false});
    };
    arena_events.freed_again = [](void* self, uint64_t address, uint64_t size, const void*, const void*) {
      static_cast<ArenaTest*>(self)->frees_.push_back({reinterpret_cast<void*>(address), size, true});
    };
  }

  std::vector<Free> frees_;
  void* memory_ = nullptr;
  Arena before_;
};

// Calls that the compiler cannot look through: it knows what malloc and free mean.
void* (*volatile allocate)(size_t) = malloc;
void (*volatile give_back)(void*) = free;
void* (*volatile resize)(void*, size_t) = realloc;

TEST_F(ArenaTest, AFreedBlockAtTheEndIsGivenOutAgain) {
  arena_active = true;
  void* first = allocate(40);
  give_back(first);
  void* second = allocate(24);
  arena_active = false;
  EXPECT_EQ(first, second);
  EXPECT_TRUE(frees_.empty());
}

TEST_F(ArenaTest, FreedBlocksCanBeKeptWithTheirBytes) {
  listen(/*keep_freed=*/true);
  arena_active = true;
  void* first = allocate(40);
  memset(first, 7, 40);
  give_back(first);
  void* second = allocate(24);
  arena_active = false;
  EXPECT_NE(first, second);
  EXPECT_EQ(static_cast<char*>(first)[39], 7);
  EXPECT_TRUE(is_freed(reinterpret_cast<uint64_t>(first)));
  EXPECT_FALSE(is_freed(reinterpret_cast<uint64_t>(second)));
  EXPECT_EQ(frees_, (std::vector<Free>{{first, 40, false}}));
}

TEST_F(ArenaTest, ABlockThatIsFreedTwiceIsTold) {
  listen(/*keep_freed=*/true);
  arena_active = true;
  void* block = allocate(40);
  void* another = allocate(8);
  give_back(block);
  give_back(another);
  give_back(block);
  arena_active = false;
  EXPECT_EQ(frees_, (std::vector<Free>{{block, 40, false}, {another, 8, false}, {block, 40, true}}));
}

TEST_F(ArenaTest, BlocksOfBeforeTheExecutionAreHeardToo) {
  listen(/*keep_freed=*/false);
  arena_active = true;
  void* block = allocate(40);
  arena_keep();
  give_back(block);
  give_back(block);
  void* next = allocate(40);
  arena_active = false;
  EXPECT_NE(block, next) << "memory below the floor is not given out again";
  EXPECT_EQ(frees_, (std::vector<Free>{{block, 40, false}, {block, 40, true}}));
}

TEST_F(ArenaTest, ReallocGivesTheOldBlockBack) {
  listen(/*keep_freed=*/true);
  arena_active = true;
  void* block = allocate(40);
  void* larger = resize(block, 80);
  arena_active = false;
  EXPECT_NE(block, larger);
  EXPECT_EQ(frees_, (std::vector<Free>{{block, 40, false}}));
}

// Only announced changes are undone: the header is announced before the block is marked.
TEST_F(ArenaTest, TheMarkOfAFreedBlockIsAChangeOfMemory) {
  listen(/*keep_freed=*/true);
  static std::vector<std::string> order;
  order.clear();
  order.reserve(8);
  arena_events.changing = [](void*, uint64_t address, uint64_t size) {
    const bool marked = is_freed(address + size);
    order.emplace_back(marked ? "late" : "before");
  };
  arena_active = true;
  void* block = allocate(40);
  give_back(block);
  arena_active = false;
  EXPECT_EQ(order, (std::vector<std::string>{"before", "before"}));
}

}  // namespace
}  // namespace powercut
