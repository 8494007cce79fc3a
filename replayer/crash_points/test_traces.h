// Random traces of a few lines, for classes that follow a model through a trace.
#ifndef POWERCUT_REPLAYER_CRASH_POINTS_TEST_TRACES_H_
#define POWERCUT_REPLAYER_CRASH_POINTS_TEST_TRACES_H_

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "replayer/media/medium.h"

namespace powercut::testing {

inline constexpr uint64_t kRandomTracePool = 4 * kLineSize;

struct RandomTrace {
  std::string model;
  AtomPolicy policy = AtomPolicy::kAny;
  std::vector<Event> events;
  std::vector<std::array<uint8_t, 32>> values;  // one for each event
};

// Few values and few places: equal contents, stores that change nothing and stores that take each other back are what
// is easy to get wrong.
inline RandomTrace random_trace(uint32_t seed, size_t length) {
  std::mt19937 source(seed);
  const auto below = [&source](uint32_t n) { return static_cast<uint32_t>(source() % n); };
  RandomTrace out;
  out.model = below(4) == 0 ? "eadr" : "adr";
  out.policy = std::array{AtomPolicy::kAny, AtomPolicy::kAscending, AtomPolicy::kByte}[below(3)];
  const uint32_t non_temporal = below(3);  // of 8 stores; none in a third of the traces
  const uint32_t threads = 1 + below(3);
  out.values.resize(2 * length);
  const size_t most_memcall = out.policy == AtomPolicy::kByte ? 4 : 24;
  const size_t most = non_temporal > 0 ? 7 : 24;  // atoms of a line: the plain model tries every set of them
  auto model = make_model(out.model, out.policy, kRandomTracePool);
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
    event.addr = below(kRandomTracePool);
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
      if (event.addr + size > kRandomTracePool) continue;
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
        if (event.addr + size > kRandomTracePool) continue;
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

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_CRASH_POINTS_TEST_TRACES_H_
