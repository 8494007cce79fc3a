// Performance bugs of traces written by hand, and the counts that the survey hands to the exploration.
#include "checker/exploration/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "tracer/format/writer.h"

namespace powercut {
namespace {

using testing::TemporaryFolder;

constexpr Frame kCaller{0, 0x900}, kOtherCaller{0, 0xa00};

// Writes a trace of one thread, store by store, and surveys it.
class Tape {
 public:
  Tape() {
    TraceError error;
    writer_ = TraceWriter::create(folder_.file("run.pct"), "{}", &error);
    EXPECT_NE(writer_, nullptr) << error.message();
    writer_->module({"libtarget.so", "00"});
  }

  // `site` is the offset of the instruction; `caller` called it.
  Tape& store(uint64_t line, uint64_t site, Frame caller = kCaller, uint32_t thread = 0) {
    return add(EventKind::kStore, 0, line * kLineSize, site, caller, thread);
  }
  Tape& flush(uint64_t line, uint64_t site, Frame caller = kCaller, uint32_t thread = 0) {
    return add(EventKind::kFlush, static_cast<uint8_t>(FlushKind::kClwb), line * kLineSize, site, caller, thread);
  }
  Tape& fence(uint64_t site, Frame caller = kCaller, uint32_t thread = 0) {
    return add(EventKind::kFence, static_cast<uint8_t>(FenceKind::kSfence), 0, site, caller, thread);
  }
  Tape& wide_store(uint64_t offset, std::vector<uint8_t> bytes, uint64_t site) {
    Event event = event_of(EventKind::kStore, 0, offset, site, kCaller, 0);
    event.value = bytes;
    event.size = bytes.size();
    writer_->append(event);
    return *this;
  }

  Survey survey(const std::string& model = "adr") {
    EXPECT_FALSE(writer_->finish().has_value());
    LoadedTrace loaded;
    loaded.plan.scenario.pool_size = 65536;
    loaded.plan.scenario.phases.push_back({.name = "work", .cut_at = "", .steps = {}, .threads = {}});
    ExploreOptions options;
    options.trace = folder_.file("run.pct");
    options.model = model;
    auto result = powercut::survey(loaded, options);
    EXPECT_TRUE(static_cast<bool>(result));
    return *result;
  }

 private:
  Event event_of(EventKind kind, uint8_t code, uint64_t addr, uint64_t site, Frame caller, uint32_t thread) {
    Event event;
    event.kind = kind;
    event.code = code;
    event.addr = addr;
    event.thread = thread;
    event.stack = writer_->stack(std::vector<Frame>{{0, site}, caller});
    return event;
  }
  Tape& add(EventKind kind, uint8_t code, uint64_t addr, uint64_t site, Frame caller, uint32_t thread) {
    Event event = event_of(kind, code, addr, site, caller, thread);
    const std::vector<uint8_t> value(8, static_cast<uint8_t>(++serial_));
    if (kind == EventKind::kStore) {
      event.value = value;
      event.size = value.size();
    }
    writer_->append(event);
    return *this;
  }

  TemporaryFolder folder_;
  std::unique_ptr<TraceWriter> writer_;
  int serial_ = 0;
};

// "kind count first-event" of each row.
std::vector<std::string> rows(const Survey& survey) {
  std::vector<std::string> out;
  for (const PerformanceBug& row : survey.performance_bugs) {
    out.push_back(std::string(row.kind) + " " + std::to_string(row.count) + " " + std::to_string(row.event));
  }
  return out;
}

TEST(Survey, CleanTraceHasNoPerformanceBug) {
  EXPECT_THAT(rows(Tape().store(1, 0x10).flush(1, 0x20).fence(0x30).survey()), ::testing::IsEmpty());
}

TEST(Survey, UselessFlushesAndFencesAreToldByCallStack) {
  const Survey survey = Tape()
                            .store(1, 0x10)
                            .flush(1, 0x20)
                            .fence(0x30)
                            .flush(1, 0x20)                // event 3: the line is clean
                            .flush(1, 0x20, kOtherCaller)  // the same instruction from elsewhere
                            .flush(1, 0x28)                // another instruction
                            .fence(0x30)                   // nothing to wait for
                            .fence(0x30, kOtherCaller)
                            .survey();
  EXPECT_THAT(rows(survey), ::testing::ElementsAre("redundant-fence 1 6", "redundant-fence 1 7", "redundant-flush 1 3",
                                                   "redundant-flush 1 4", "redundant-flush 1 5"));
}

TEST(Survey, StoresThatWereNotDurableAreToldByInstruction) {
  // The stores of 0x10 came by two ways; those of one way were flushed. None of 0x18 was durable.
  const Survey survey = Tape()
                            .store(1, 0x10)
                            .store(2, 0x10, kOtherCaller)
                            .store(3, 0x18)
                            .store(3, 0x18, kOtherCaller)
                            .flush(1, 0x20)
                            .fence(0x30)
                            .survey();
  EXPECT_THAT(rows(survey), ::testing::ElementsAre("never-persisted 1 1", "never-persisted 2 2"));
}

TEST(Survey, HalfAStoreIsNotDurable) {
  const Survey survey = Tape().wide_store(56, std::vector<uint8_t>(16, 7), 0x10).flush(0, 0x20).fence(0x30).survey();
  EXPECT_THAT(rows(survey), ::testing::ElementsAre("never-persisted 1 0"));
}

TEST(Survey, VisibleIsDurableUnderEadr) {
  EXPECT_THAT(rows(Tape().store(1, 0x10).store(2, 0x18).survey("eadr")), ::testing::IsEmpty());
}

TEST(Survey, CountsStatesOfEveryCrashPoint) {
  // Before the fence: two lines with two candidates each. At the end: one of them is durable.
  const Survey survey = Tape().store(1, 0x10).store(2, 0x10).flush(1, 0x20).fence(0x30).survey();
  EXPECT_EQ(survey.crash_points, 2u);
  EXPECT_EQ(survey.crash_states, 4 + 2);
  EXPECT_THAT(survey.written_lines, ::testing::ElementsAre(1u, 2u));
}

}  // namespace
}  // namespace powercut
