// Models and frontier, which keep what they can from event to event, against models that keep nothing: the same
// crash points, the same contents in the same order, and changes that lead from each crash point to the next.
#include "replayer/crash_points/frontier.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "replayer/models/plain_model.h"

namespace powercut {
namespace {

constexpr uint64_t kPoolSize = 4 * kLineSize;

struct Shown {
  std::vector<Content> contents;
  uint32_t visible = 0;
};
using Memory = std::map<uint64_t, Shown>;  // every line

struct Program {
  std::string model;
  AtomPolicy policy = AtomPolicy::kAny;
  std::vector<Event> events;
  std::vector<std::array<uint8_t, 32>> values;  // one for each event
};

// Few values and few places: equal contents, stores that change nothing and stores that take each other back are what
// is easy to get wrong.
Program draw(uint32_t seed, size_t length) {
  std::mt19937 source(seed);
  const auto below = [&source](uint32_t n) { return static_cast<uint32_t>(source() % n); };
  Program out;
  out.model = below(4) == 0 ? "eadr" : "adr";
  out.policy = std::array{AtomPolicy::kAny, AtomPolicy::kAscending, AtomPolicy::kByte}[below(3)];
  const uint32_t non_temporal = below(3);  // of 8 stores; none in a third of the programs
  const uint32_t threads = 1 + below(3);
  out.values.resize(2 * length);
  const size_t most_memcall = out.policy == AtomPolicy::kByte ? 4 : 24;
  const size_t most = non_temporal > 0 ? 7 : 24;  // atoms of a line: the plain model tries every set of them
  auto model = make_model(out.model, out.policy, kPoolSize);
  const auto atoms = [&model](uint64_t line) {
    size_t count = 0;
    if (const LineLog* log = model->pending().find(line)) {
      for (const PendingStore& store : log->stores()) count += store.atoms.size();
    }
    return count;
  };
  while (out.events.size() < length) {
    Event event;
    event.index = out.events.size();
    event.thread = below(threads);
    event.addr = below(kPoolSize);
    const uint32_t kind = below(16);
    if (kind < 6) {
      auto& value = out.values[event.index];
      const Event* last = out.events.empty() ? nullptr : &out.events.back();
      const bool continues =
          below(3) == 0 && last != nullptr && last->kind <= EventKind::kNtStore && (last->flags & kStoreRmw) == 0;
      const size_t size = std::array{1, 2, 4, 8, 8, 8, 12, 16, 24, 31}[below(10)];
      const bool rmw = size == 8 && below(4) == 0 && !continues;
      if (size == 8 && below(4) != 0) event.addr &= ~uint64_t{7};
      if (rmw) event.addr &= ~uint64_t{7};
      if (event.addr + size > kPoolSize) continue;
      value.fill(static_cast<uint8_t>(below(3)));
      if (below(2) == 0) value[below(8)] = static_cast<uint8_t>(below(3));
      event.value = {value.data(), size};
      event.size = size;
      event.kind = !rmw && below(8) < non_temporal ? EventKind::kNtStore : EventKind::kStore;
      event.flags = rmw ? kStoreRmw : size <= most_memcall && below(3) == 0 ? kStoreMemcall : 0;
      if (event.kind == EventKind::kNtStore && below(3) == 0) event.flags |= kStoreAtomic;
      if (continues) {
        event.kind = last->kind;
        event.flags = (last->flags & kStoreAtomic) | (event.flags & kStoreMemcall) | kStoreContinues;
        event.thread = last->thread;
        if (below(2) == 0) event.addr = last->addr + below(16);
        if (event.addr + size > kPoolSize) continue;
      }
      const bool memcall = (event.flags & kStoreMemcall) != 0;
      const size_t pieces = !memcall ? 1 + size / 8 : out.policy == AtomPolicy::kByte ? size : 6;
      const size_t room = continues ? std::min<size_t>(most, 8) : most;  // what continues may be one store's atoms
      if (atoms(event.addr / kLineSize) + pieces > room || atoms((event.addr + size - 1) / kLineSize) + pieces > room) {
        continue;
      }
      if (rmw) {
        Event before = event;
        before.kind = EventKind::kFence;
        out.events.push_back(before);
        model->apply(before);
      }
    } else if (kind < 10) {
      event.kind = EventKind::kFlush;
      event.code = static_cast<uint8_t>(
          std::array{FlushKind::kClwb, FlushKind::kClflushopt, FlushKind::kClflush, FlushKind::kClwb}[below(4)]);
    } else if (kind < 13) {
      event.kind = EventKind::kFence;
      event.code = static_cast<uint8_t>(FenceKind::kSfence);
    } else if (kind < 15) {
      event.kind = std::array{EventKind::kOpBegin, EventKind::kOpEnd}[below(2)];
    } else if (below(3) == 0) {
      event.kind = EventKind::kPhase;
      event.code = 1;
    } else {
      if (below(3) != 0) continue;
      event.kind = EventKind::kCut;
    }
    out.events.push_back(event);
    model->apply(event);
  }
  return out;
}

Shown shown_by(const Frontier& frontier, const std::vector<uint8_t>& pool, uint64_t line) {
  if (const LineSet* set = frontier.find(line)) return {set->contents, set->visible};
  Content content;
  std::memcpy(content.bytes.data(), pool.data() + line * kLineSize, kLineSize);
  return {{content}, 0};
}

class Pair {
 public:
  explicit Pair(const Program& program)
      : model_(make_model(program.model, program.policy, kPoolSize)),
        plain_(program.model, program.policy, kPoolSize),
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
    const Program program = draw(seed, 30);
    Pair pair(program);
    for (const Event& event : program.events) {
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
    const Program program = draw(1'000'000 + seed, 40);
    Pair pair(program);
    for (const Event& event : program.events) {
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
