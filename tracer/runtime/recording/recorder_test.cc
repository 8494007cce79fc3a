// Stack ids: the recorder remembers the stack of each call site, and must notice every other stack. Frames are made by
// hand: two words each, the caller's frame and the return address, as the compiler lays them out.
#include "tracer/runtime/recording/recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracer/format/reader.h"

namespace powercut {
namespace {

alignas(64) std::array<uint8_t, 4096> pool;

// Somewhere in this program's code.
uint64_t code(uint64_t offset) { return reinterpret_cast<uint64_t>(&code) + 1 + offset; }

// A stack of frames, innermost first.
class Chain {
 public:
  explicit Chain(const std::vector<uint64_t>& callers) {
    for (size_t i = 0; i < callers.size(); ++i) {
      words_[2 * i] = reinterpret_cast<uint64_t>(&words_[2 * i + 2]);
      words_[2 * i + 1] = callers[i];
    }
    powercut_stack_range(words_.data(), words_.data() + words_.size());
  }
  ~Chain() { powercut_stack_range(nullptr, nullptr); }

  const void* frame() const { return words_.data(); }
  void set_caller(size_t at, uint64_t address) { words_[2 * at + 1] = address; }

 private:
  std::array<uint64_t, 128> words_{};
};

TEST(Stack, IsSaysWhatTheWalkWouldWrite) {
  for (uint32_t depth : {0u, 1u, 2u, 5u}) {
    std::vector<uint64_t> callers;
    for (uint32_t i = 0; i < depth; ++i) callers.push_back(code(10 * i));
    Chain chain(callers);
    const void* pc = reinterpret_cast<const void*>(code(1000));
    for (uint32_t max : {1u, 3u, 64u}) {
      std::array<uint64_t, 64> out{};
      const uint32_t count = powercut_stack(pc, chain.frame(), out.data(), max);
      EXPECT_EQ(count, std::min(depth + 1, max));
      EXPECT_TRUE(powercut_stack_is(pc, chain.frame(), out.data(), count, max)) << depth << " of " << max;
      EXPECT_FALSE(powercut_stack_is(pc, chain.frame(), out.data(), count - 1, max)) << "shorter";
      out[count] = code(1);
      EXPECT_FALSE(powercut_stack_is(pc, chain.frame(), out.data(), count + 1, max)) << "longer";
      for (uint32_t i = 0; i < count; ++i) {
        std::array<uint64_t, 64> other = out;
        ++other[i];
        EXPECT_FALSE(powercut_stack_is(pc, chain.frame(), other.data(), count, max)) << "address " << i;
      }
    }
  }
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    folder_ = std::filesystem::temp_directory_path() / ("powercut-recorder-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    TraceError error;
    writer_ = TraceWriter::create(path(), "{}", &error);
    recorder_.emplace(*writer_, reinterpret_cast<uint64_t>(pool.data()), pool.size());
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "run.pct"; }
  uint32_t stack(const Chain& chain, uint64_t pc = 500) {
    return recorder_->stack(reinterpret_cast<const void*>(code(pc)), chain.frame());
  }

  std::filesystem::path folder_;
  std::unique_ptr<TraceWriter> writer_;
  std::optional<Recorder> recorder_;
};

TEST_F(RecorderTest, TheSameCallSiteUnderAnotherCallerIsAnotherStack) {
  Chain chain({code(10), code(20), code(30)});
  const uint32_t first = stack(chain);
  EXPECT_EQ(stack(chain), first);
  chain.set_caller(2, code(31));
  const uint32_t second = stack(chain);
  EXPECT_NE(second, first);
  chain.set_caller(2, 0);  // the outermost frame
  const uint32_t shorter = stack(chain);
  EXPECT_NE(shorter, first);
  EXPECT_NE(shorter, second);
  chain.set_caller(2, code(30));
  EXPECT_EQ(stack(chain), first);
  EXPECT_NE(stack(chain, 501), first) << "another place in the same function";

  recorder_.reset();
  ASSERT_FALSE(writer_->finish());
  TraceError error;
  auto reader = TraceReader::open(path(), &error);
  ASSERT_NE(reader, nullptr);
  Event event;
  while (reader->next(&event)) {
  }
  EXPECT_EQ(reader->stack(first).size(), 4u);
  EXPECT_EQ(reader->stack(shorter).size(), 3u);
  EXPECT_EQ(reader->stack(second).back().offset, reader->stack(first).back().offset + 1);
}

TEST_F(RecorderTest, PiecesContinueTheStoreOnlyWhereTheyFollowIt) {
  const auto base = reinterpret_cast<uint64_t>(pool.data());
  const std::vector<uint8_t> value(130, 7);
  const auto store = [&](uint64_t offset, uint64_t size, uint32_t flags) {
    recorder_->store(base + offset, size, flags, value.data(), nullptr, nullptr);
  };
  constexpr uint32_t kMore = POWERCUT_STORE_CONTINUES;
  store(0, 4, 0);
  store(8, 4, kMore);
  store(pool.size(), 4, 0);  // outside
  store(16, 4, kMore);       // the first of its store in the pool
  store(24, 4, kMore);
  recorder_->fence(POWERCUT_SFENCE, nullptr, nullptr);
  store(32, 4, kMore);
  recorder_->set_thread(1);
  store(40, 4, kMore);
  store(192, 130, 0);  // by lines
  recorder_.reset();
  ASSERT_FALSE(writer_->finish());
  TraceError error;
  auto reader = TraceReader::open(path(), &error);
  ASSERT_NE(reader, nullptr);
  std::vector<uint64_t> first, further;
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kStore) (event.flags == kStoreContinues ? further : first).push_back(event.addr);
  }
  EXPECT_FALSE(reader->error());
  EXPECT_EQ(first, (std::vector<uint64_t>{0, 16, 32, 40, 192}));
  EXPECT_EQ(further, (std::vector<uint64_t>{8, 24, 256, 320}));
}

TEST_F(RecorderTest, MoreCallSitesThanItRemembers) {
  Chain chain({code(10)});
  for (int turn = 0; turn < 2; ++turn) {
    for (uint64_t at = 0; at < 5000; ++at) {
      chain.set_caller(0, code(at % 7));
      ASSERT_EQ(stack(chain, at / 7), at + 1) << "in turn " << turn;
    }
  }
}

}  // namespace
}  // namespace powercut
