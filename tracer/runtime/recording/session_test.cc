// Tracing without the engine: when a trace is complete, and which process it belongs to. The test calls the hooks as
// instrumented code does.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "powercut/mark.h"
#include "powercut/trace.h"
#include "tracer/format/reader.h"
#include "tracer/runtime/hooks.h"

namespace powercut {
namespace {

alignas(64) char pool[4096];

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { powercut_trace_pool(pool, sizeof pool); }
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("powercut-session-" + std::to_string(getpid()) + ".pct");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static void store(int offset) {
    const int value = offset;
    __powercut_store(pool + offset, sizeof value, 0, &value);
  }
  // Returns kinds, threads and offsets of the events, e.g. "7:0 1:0@8".
  std::string events() const {
    TraceError error;
    const auto reader = TraceReader::open(path_, &error);
    if (reader == nullptr) return error.message();
    std::string text;
    Event event;
    while (reader->next(&event)) {
      if (!text.empty()) text += ' ';
      text += std::to_string(static_cast<int>(event.kind)) + ':' + std::to_string(event.thread);
      if (event.kind == EventKind::kStore) text += '@' + std::to_string(event.addr);
    }
    return text;
  }

  std::filesystem::path path_;
};

TEST_F(SessionTest, OneProcessCanWriteSeveralTraces) {
  for (const int offset : {8, 16}) {
    ASSERT_EQ(powercut_trace_begin(path_.c_str()), 0);
    store(offset);
    ASSERT_EQ(powercut_trace_end(), 0);
    EXPECT_EQ(events(), "7:0 1:0@" + std::to_string(offset));
  }
  store(24);  // nobody listens
  EXPECT_EQ(powercut_trace_end(), 0);
}

TEST_F(SessionTest, ASecondBeginIsRefused) {
  ASSERT_EQ(powercut_trace_begin(path_.c_str()), 0);
  EXPECT_EQ(powercut_trace_begin("other.pct"), -1);
  EXPECT_EQ(powercut_trace_end(), 0);
}

TEST_F(SessionTest, AnUnwritablePathIsAnErrorAndNothingIsTraced) {
  EXPECT_EQ(powercut_trace_begin("/nonexistent/run.pct"), -1);
  store(8);
  EXPECT_EQ(powercut_trace_end(), 0);
}

TEST_F(SessionTest, MarkedOperationsAreEvents) {
  ASSERT_EQ(powercut_trace_begin(path_.c_str()), 0);
  powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, "value", 5);
  store(8);
  powercut_mark_end(2, nullptr, 0);
  powercut_mark_begin(POWERCUT_MARK_MAINTAIN, nullptr, 0, "compact", 7);
  powercut_mark_end(0, nullptr, 0);
  ASSERT_EQ(powercut_trace_end(), 0);
  EXPECT_EQ(events(), "7:0 5:0 1:0@8 6:0 5:0 6:0");
  TraceError error;
  const auto reader = TraceReader::open(path_, &error);
  Event event;
  ASSERT_TRUE(reader->next(&event) && reader->next(&event));
  EXPECT_EQ(std::string(event.key.begin(), event.key.end()), "key");
  EXPECT_EQ(std::string(event.value.begin(), event.value.end()), "value");
  ASSERT_TRUE(reader->next(&event) && reader->next(&event));
  EXPECT_EQ(event.code, 2);
  ASSERT_TRUE(reader->next(&event));
  EXPECT_EQ(event.text, "compact");
}

TEST_F(SessionTest, ThreadsStartWithTheirFirstEventAndEnd) {
  ASSERT_EQ(powercut_trace_begin(path_.c_str()), 0);
  std::thread([] { store(64); }).join();
  store(0);
  std::thread([] {}).join();
  ASSERT_EQ(powercut_trace_end(), 0);
  EXPECT_EQ(events(), "7:0 1:0@64 8:0 7:1 1:1@0");
}

TEST_F(SessionTest, AForkedChildLeavesTheTraceToItsParent) {
  ASSERT_EQ(powercut_trace_begin(path_.c_str()), 0);
  store(8);
  const pid_t child = fork();
  if (child == 0) {
    store(16);
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  store(24);
  ASSERT_EQ(powercut_trace_end(), 0);
  EXPECT_EQ(events(), "7:0 1:0@8 1:0@24");
}

TEST_F(SessionTest, ExitCompletesTheTraceAndACrashLeavesNone) {
  EXPECT_EXIT(
      {
        if (powercut_trace_begin(path_.c_str()) == 0) store(8);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EQ(events(), "7:0 1:0@8");
  std::filesystem::remove(path_);
  EXPECT_DEATH(
      {
        if (powercut_trace_begin(path_.c_str()) == 0) store(8);
        abort();
      },
      "");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace powercut
