// The walk against its definition, written as one loop over models that keep nothing.
#include "replayer/crash_points/crash_points.h"

#include <gtest/gtest.h>

#include <tuple>

#include "replayer/crash_points/test_traces.h"
#include "replayer/media/medium.h"
#include "replayer/models/plain_model.h"

namespace powercut {
namespace {

using testing::RandomTrace;

// Ordinal, event, before.
using Points = std::vector<std::tuple<uint64_t, uint64_t, bool>>;

Points defined(const RandomTrace& trace, bool explored) {
  plain::Model model(trace.model, trace.policy, testing::kRandomTracePool);
  Points out;
  const auto add = [&](bool crash, uint64_t event, bool before) {
    if (crash && explored) out.emplace_back(out.size(), event, before);
  };
  bool after = true;
  for (const Event& event : trace.events) {
    add(model.crash_ahead_of(&event), event.index - 1, false);
    if (event.kind == EventKind::kPhase) explored = event.code != 0;
    add(model.crash_before(event), event.index, true);
    model.apply(event);
    add(after = model.crash_after(event), event.index, false);
  }
  if (trace.events.empty()) return out;
  const uint64_t last = trace.events.back().index;
  add(model.crash_ahead_of(nullptr), last, false);
  add(!after, last, false);
  return out;
}

Points walked(const RandomTrace& trace, bool explored) {
  const auto model = make_model(trace.model, trace.policy, testing::kRandomTracePool);
  CrashPoints crash_points(model.get(), explored);
  Points out;
  std::vector<uint64_t> begun, applied;
  const auto step = [&](const Event* event) {
    const auto begin = [&](const Event& it) { begun.push_back(it.index); };
    while (crash_points.next(event, begin, [&](const Event& it) { applied.push_back(it.index); })) {
      const CrashPoint& at = crash_points.at();
      out.emplace_back(at.ordinal, at.event, at.before);
      const Event& named = *std::find_if(trace.events.begin(), trace.events.end(),
                                         [&](const Event& candidate) { return candidate.index == at.event; });
      EXPECT_TRUE(at.kind == named.kind && at.code == named.code);
      // The event before which the model stands has begun, and is not applied.
      EXPECT_EQ(begun.size(), applied.size() + (at.before ? 1 : 0));
      EXPECT_EQ((at.before ? begun : applied).back(), at.event);
    }
  };
  for (const Event& event : trace.events) step(&event);
  step(nullptr);
  EXPECT_FALSE(crash_points.next(nullptr)) << "the end stays the end";
  EXPECT_EQ(begun.size(), trace.events.size());
  EXPECT_EQ(applied.size(), trace.events.size());
  EXPECT_EQ(crash_points.count(), out.size());
  return out;
}

TEST(CrashPoints, AreThoseOfTheDefinition) {
  size_t ahead = 0, left_out = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomTrace trace = testing::random_trace(2'000'000 + seed, seed % 40);
    // An index names one event: a locked store and its fence have one between them.
    for (size_t i = 0; i < trace.events.size(); ++i) {
      trace.events[i].index = i;
      if (trace.events[i].kind == EventKind::kPhase) trace.events[i].code = (seed + i) % 2;
    }
    const Points on = defined(trace, true), off = defined(trace, false);
    ASSERT_EQ(walked(trace, true), on);
    ASSERT_EQ(walked(trace, false), off);
    left_out += off.size() < on.size() && !off.empty();
    for (const auto& [ordinal, event, before] : on) {
      ahead += !before && trace.events[event].kind != EventKind::kOpEnd && event + 1 < trace.events.size();
    }
  }
  EXPECT_GT(ahead, 1000u);
  EXPECT_GT(left_out, 100u);
}

TEST(CrashPoints, ATraceOfOneStoreHasItsEnd) {
  const uint64_t value = 7;
  Event store;
  store.kind = EventKind::kStore;
  store.size = 8;
  store.value = {reinterpret_cast<const uint8_t*>(&value), 8};
  const auto model = make_model("adr", AtomPolicy::kAny, kLineSize);
  CrashPoints crash_points(model.get());
  EXPECT_FALSE(crash_points.next(&store));
  EXPECT_TRUE(crash_points.next(nullptr));
  EXPECT_FALSE(crash_points.next(nullptr));
  CrashPoints none(model.get());
  EXPECT_FALSE(none.next(nullptr));
}

}  // namespace
}  // namespace powercut
