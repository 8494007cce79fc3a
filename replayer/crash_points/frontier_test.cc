// Models and frontier, which keep what they can from event to event, against models that keep nothing: the same
// crash points, the same contents in the same order, and changes that lead from each crash point to the next.
#include "replayer/crash_points/frontier.h"

#include <gtest/gtest.h>

#include <map>

#include "replayer/crash_points/test_traces.h"
#include "replayer/media/medium.h"
#include "replayer/models/plain_model.h"

namespace powercut {
namespace {

using testing::random_trace;
using testing::RandomTrace;

constexpr uint64_t kPoolSize = testing::kRandomTracePool;

struct Shown {
  std::vector<Content> contents;
  uint32_t visible = 0;
};
using Memory = std::map<uint64_t, Shown>;  // every line

Shown shown_by(const Frontier& frontier, const std::vector<uint8_t>& pool, uint64_t line) {
  if (const LineSet* set = frontier.find(line)) return {set->contents, set->visible};
  Content content;
  std::memcpy(content.bytes.data(), pool.data() + line * kLineSize, kLineSize);
  return {{content}, 0};
}

class Pair {
 public:
  explicit Pair(const RandomTrace& trace)
      : model_(make_model(trace.model, trace.policy, kPoolSize)),
        plain_(trace.model, trace.policy, kPoolSize),
        pool_(kPoolSize),
        frontier_(pool_.data()) {
    for (uint64_t line = 0; line < kPoolSize / kLineSize; ++line) memory_[line] = shown_by(frontier_, pool_, line);
  }

  void apply(const Event& event, bool look) {
    const bool ahead = model_->crash_ahead_of(&event);
    ASSERT_EQ(ahead, plain_.crash_ahead_of(&event));
    if (ahead && look) ASSERT_NO_FATAL_FAILURE(compare());
    const bool before = model_->crash_before(event);
    ASSERT_EQ(before, plain_.crash_before(event));
    if (before && look) ASSERT_NO_FATAL_FAILURE(compare());
    model_->apply(event);
    plain_.apply(event);
    const bool after = model_->crash_after(event);
    ASSERT_EQ(after, plain_.crash_after(event));
    if (after && look) ASSERT_NO_FATAL_FAILURE(compare());
  }

  void finish() {
    ASSERT_EQ(model_->crash_ahead_of(nullptr), plain_.crash_ahead_of(nullptr));
    compare();
  }

 private:
  void compare() {
    const std::vector<Frontier::Change>& changes = frontier_.follow(model_.get());
    BigInt states = 1;
    size_t pending = 0;
    std::map<uint64_t, const Frontier::Change*> changed;
    for (const Frontier::Change& change : changes) {
      ASSERT_TRUE(changed.empty() || changed.rbegin()->first < change.line) << "changes do not ascend";
      changed[change.line] = &change;
    }
    for (auto& [line, was] : memory_) {
      const plain::Set wanted = plain_.candidates(line);
      const Shown now = shown_by(frontier_, pool_, line);
      ASSERT_EQ(now.contents, wanted.contents) << "line " << line;
      ASSERT_EQ(now.visible, wanted.visible) << "line " << line;
      ASSERT_EQ(std::memcmp(pool_.data() + line * kLineSize, now.contents[0].bytes.data(), kLineSize), 0);
      ASSERT_NO_FATAL_FAILURE(compare_change(changed[line], was, now));
      if (const LineSet* set = frontier_.find(line)) {
        LineSet copy = *set;
        copy.compute_diff();
        ASSERT_EQ(set->diff, copy.diff);
        ASSERT_EQ(set->line, line);
      }
      states *= now.contents.size();
      pending += now.contents.size() > 1;
      was = now;
    }
    ASSERT_EQ(frontier_.states(), states);
    ASSERT_EQ(frontier_.pending(), pending);
    ASSERT_EQ(frontier_.sets().size(), pending);
    ASSERT_FALSE(frontier_.truncated());
  }

  static void compare_change(const Frontier::Change* change, const Shown& was, const Shown& now) {
    ASSERT_EQ(change != nullptr, was.contents != now.contents);
    if (change == nullptr) return;
    const bool prefix = was.contents.size() < now.contents.size() &&
                        std::equal(was.contents.begin(), was.contents.end(), now.contents.begin());
    ASSERT_EQ(change->grew, prefix);
    if (prefix) {
      ASSERT_EQ(change->old_count, was.contents.size());
    } else {
      ASSERT_EQ(change->before.line, change->line);
      ASSERT_EQ(change->before.contents, was.contents);
      ASSERT_EQ(change->before.visible, was.visible);
    }
  }

  std::unique_ptr<Model> model_;
  plain::Model plain_;
  std::vector<uint8_t> pool_;
  Frontier frontier_;
  Memory memory_;
};

TEST(FrontierAgainstPlain, EveryCrashPoint) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomTrace trace = random_trace(seed, 30);
    Pair pair(trace);
    for (const Event& event : trace.events) {
      pair.apply(event, true);
      if (HasFatalFailure()) return;
    }
    pair.finish();
    if (HasFatalFailure()) return;
  }
}

// Work that is split begins in the middle, and phases that are not explored are passed over.
TEST(FrontierAgainstPlain, SomeCrashPoints) {
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomTrace trace = random_trace(1'000'000 + seed, 40);
    Pair pair(trace);
    for (const Event& event : trace.events) {
      pair.apply(event, (event.index + seed) % 7 < 3);
      if (HasFatalFailure()) return;
    }
  }
}

Event store_of(uint64_t index, uint64_t offset, const uint64_t* value) {
  Event event;
  event.index = index;
  event.kind = EventKind::kStore;
  event.addr = offset;
  event.size = 8;
  event.value = {reinterpret_cast<const uint8_t*>(value), 8};
  return event;
}

TEST(Frontier, ACounterBeyondTheLimitIsTruncatedAndSaysSo) {
  auto model = make_model("adr", AtomPolicy::kAny, kPoolSize);
  std::vector<uint8_t> pool(kPoolSize);
  Frontier frontier(pool.data());
  for (uint64_t value = 1; value < kCandidateLimit - 1; ++value) model->apply(store_of(value, 0, &value));
  frontier.follow(model.get());
  EXPECT_FALSE(frontier.truncated());
  EXPECT_EQ(frontier.states(), kCandidateLimit - 1);
  for (uint64_t value = kCandidateLimit; value < kCandidateLimit + 10; ++value) {
    model->apply(store_of(value, 0, &value));
    frontier.follow(model.get());
  }
  EXPECT_TRUE(frontier.truncated());
  EXPECT_EQ(frontier.states(), kCandidateLimit);
  Event cut;
  cut.kind = EventKind::kCut;
  model->apply(cut);
  ASSERT_EQ(frontier.follow(model.get()).size(), 1u);
  EXPECT_FALSE(frontier.truncated());
  EXPECT_EQ(frontier.states(), 1);
}

TEST(Frontier, ASetKeepsItsAddressWhileOthersComeAndGo) {
  auto model = make_model("adr", AtomPolicy::kAny, 4096 * kLineSize);
  std::vector<uint8_t> pool(4096 * kLineSize);
  Frontier frontier(pool.data());
  const uint64_t value = 7;
  model->apply(store_of(0, 0, &value));
  frontier.follow(model.get());
  const LineSet* first = frontier.find(0);
  ASSERT_NE(first, nullptr);
  for (uint64_t line = 1; line < 4096; ++line) model->apply(store_of(line, line * kLineSize, &value));
  EXPECT_EQ(frontier.follow(model.get()).size(), 4095u);
  EXPECT_EQ(frontier.find(0), first);
  EXPECT_EQ(frontier.states(), BigInt(1) << 4096);
  EXPECT_EQ(frontier.sets().size(), 4096u);
  EXPECT_EQ(frontier.sets()[17]->line, 17u);
}

}  // namespace
}  // namespace powercut
