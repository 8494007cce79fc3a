// A tree of schedules: a model, and a frontier that follows it, return to the root and go another way. Their answers
// are then those of that way alone.
#include <gtest/gtest.h>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/crash_points/test_traces.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

using testing::kRandomTracePool;
using testing::random_trace;
using testing::RandomTrace;

struct alignas(64) Pool {
  std::array<uint8_t, kRandomTracePool> bytes{};
};

void expect_same(const Model& one, const Frontier& first, const Pool& pool_one, const Model& two,
                 const Frontier& second, const Pool& pool_two, uint32_t seed) {
  for (uint64_t line = 0; line < kRandomTracePool / kLineSize; ++line) {
    ASSERT_EQ(one.candidates(line).contents, two.candidates(line).contents) << "trace " << seed;
    const LineSet* a = first.find(line);
    const LineSet* b = second.find(line);
    ASSERT_EQ(a == nullptr, b == nullptr) << "trace " << seed;
    if (a != nullptr) ASSERT_EQ(a->contents, b->contents) << "trace " << seed;
  }
  ASSERT_EQ(pool_one.bytes, pool_two.bytes) << "trace " << seed;
  ASSERT_EQ(first.states(), second.states()) << "trace " << seed;
}

TEST(GoBack, ModelAndFrontierSayWhatTheWayAloneSays) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const RandomTrace trace = random_trace(seed, 60);
    const size_t root = seed % 30, left = root + (60 - root) / 2;
    // Up to the root, then one way, back, and on with the other; a piece never continues what was undone.
    if (left >= trace.events.size() || (trace.events[left].flags & kStoreContinues) != 0) continue;
    if (root < trace.events.size() && (trace.events[root].flags & kStoreContinues) != 0) continue;
    const auto model = make_model(trace.model, trace.policy, kRandomTracePool);
    const auto alone = make_model(trace.model, trace.policy, kRandomTracePool);
    Pool pool, pool_alone;
    Frontier frontier(pool.bytes.data()), frontier_alone(pool_alone.bytes.data());
    for (size_t i = 0; i < root; ++i) {
      model->apply(trace.events[i]);
      alone->apply(trace.events[i]);
    }
    model->keep();
    for (int round = 0; round < 2; ++round) {
      for (size_t i = root; i < left; ++i) {
        model->apply(trace.events[i]);
        if (i % 3 == 0) frontier.follow(model.get());
      }
      model->go_back();
    }
    for (size_t i = left; i < trace.events.size(); ++i) {
      model->apply(trace.events[i]);
      alone->apply(trace.events[i]);
    }
    frontier.follow(model.get());
    frontier_alone.follow(alone.get());
    expect_same(*model, frontier, pool, *alone, frontier_alone, pool_alone, seed);
  }
}

TEST(GoBack, ATreeIsCutWhereItSaysAlone) {
  const auto event = [](EventKind kind, uint64_t index, uint64_t size = 0) {
    Event out;
    out.kind = kind;
    out.index = index;
    out.size = size;
    return out;
  };
  const auto model = make_model("adr", AtomPolicy::kAny, kRandomTracePool);
  CrashPoints walk(model.get());
  std::vector<uint64_t> stops;
  std::vector<size_t> lengths;
  const std::vector<Event> tree = {event(EventKind::kFork, 0),       event(EventKind::kOpBegin, 1),
                                   event(EventKind::kOpEnd, 2),      event(EventKind::kCrashPoint, 3),
                                   event(EventKind::kBack, 4, 1),    event(EventKind::kMarker, 5),
                                   event(EventKind::kCrashPoint, 6), event(EventKind::kTrouble, 7)};
  const auto stop = [&](const Event* next) {
    while (walk.next(next)) {
      stops.push_back(walk.at().event);
      lengths.push_back(walk.schedule().size());
    }
  };
  for (const Event& next : tree) stop(&next);
  stop(nullptr);
  EXPECT_EQ(stops, (std::vector<uint64_t>{3, 6, 7}));
  EXPECT_EQ(lengths, (std::vector<size_t>{2, 2, 2}));
  EXPECT_EQ(walk.count(), 3u);
}

}  // namespace
}  // namespace powercut
