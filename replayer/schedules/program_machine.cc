#include "replayer/schedules/program_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "xxhash.h"

namespace powercut::schedules {
namespace {

constexpr auto kRmwFence = static_cast<uint8_t>(FenceKind::kRmw);

void tell(const void* bytes, size_t size, std::string* told) {
  told->append(reinterpret_cast<const char*>(&size), sizeof size);
  told->append(static_cast<const char*>(bytes), size);
}

template <typename T>
void tell(const std::vector<T>& values, std::string* told) {
  tell(values.data(), values.size() * sizeof(T), told);
}

}  // namespace

Event MadeEvent::event(uint64_t index) const {
  Event out;
  out.index = index;
  out.kind = kind;
  out.code = code;
  out.flags = flags;
  out.thread = thread + 1;
  out.addr = addr;
  out.size = value.size();
  out.value = value;
  return out;
}

ProgramMachine::ProgramMachine(const ThreadProgram& program, uint64_t pool_size, AtomPolicy policy, bool caches_persist)
    : program_(program),
      eadr_(caches_persist),
      now_{.pool = std::vector<uint8_t>(pool_size),
           .lines = LineStates(policy, caches_persist, nullptr),
           .at = std::vector<size_t>(program.size()),
           .loaded = std::vector<std::vector<uint8_t>>(program.size()),
           .held = {},
           .history = {},
           .cuts_in_flight = {},
           .made = {}} {
  now_.lines = LineStates(policy, caches_persist, now_.pool.data());
  for (const std::vector<ThreadStep>& steps : program) {
    for (const ThreadStep& step : steps) {
      if (step.kind == StepKind::kLock) now_.held.resize(std::max<size_t>(now_.held.size(), step.addr + 1));
    }
  }
}

const ThreadStep* ProgramMachine::next_of(uint32_t thread) const {
  return now_.at[thread] < program_[thread].size() ? &program_[thread][now_.at[thread]] : nullptr;
}

bool ProgramMachine::holds(const ThreadStep& step) const {
  return std::equal(step.expected.begin(), step.expected.end(), now_.pool.begin() + static_cast<ptrdiff_t>(step.addr));
}

ThreadState ProgramMachine::state_of(uint32_t thread) const {
  const ThreadStep* next = next_of(thread);
  if (next == nullptr) return ThreadState::kEnded;
  const bool waits = (next->kind == StepKind::kWait && !holds(*next)) ||
                     (next->kind == StepKind::kLock && now_.held[next->addr].has_value());
  return waits ? ThreadState::kWaiting : ThreadState::kReady;
}

bool ProgramMachine::stands_at_cut(uint32_t thread) const {
  if (state_of(thread) != ThreadState::kReady || at_store(thread)) return true;
  const ThreadStep& next = *next_of(thread);
  switch (next.kind) {
    case StepKind::kBegin:
    case StepKind::kEnd:
      return true;
    case StepKind::kRmw:
    case StepKind::kCas:
    case StepKind::kAdd:
    case StepKind::kFence:
    case StepKind::kLock:
    case StepKind::kUnlock:
      return now_.lines.drains(thread + 1);
    case StepKind::kFlush:
      return next.code == static_cast<uint8_t>(FlushKind::kClflush) && now_.lines.clflush_raises(next.addr);
    default:
      return false;
  }
}

bool ProgramMachine::at_cut(uint32_t thread) const {
  return now_.cuts_in_flight.empty() ? stands_at_cut(thread) : now_.cuts_in_flight[thread] != 0;
}

bool ProgramMachine::at_store(uint32_t thread) const {
  const ThreadStep* next = next_of(thread);
  if (!eadr_ || next == nullptr) return false;
  switch (next->kind) {
    case StepKind::kStore:
    case StepKind::kNtStore:
    case StepKind::kRmw:
    case StepKind::kAdd:
    case StepKind::kStoreLoaded:
      return true;
    case StepKind::kCas:
      return holds(*next);
    default:
      return false;
  }
}

void ProgramMachine::step(uint32_t thread) {
  std::vector<uint8_t> cuts(threads());
  for (uint32_t other = 0; other < threads(); ++other) cuts[other] = stands_at_cut(other);
  const ThreadStep& step = *next_of(thread);
  const MadeEvent marker{.thread = thread, .kind = EventKind::kMarker, .value = {}};
  const MadeEvent fence{.thread = thread, .kind = EventKind::kFence, .code = kRmwFence, .value = {}};
  MadeEvent store{.thread = thread, .kind = EventKind::kStore, .addr = step.addr, .value = step.value};
  switch (step.kind) {
    case StepKind::kNtStore:
      store.kind = EventKind::kNtStore;
      [[fallthrough]];
    case StepKind::kStore:
      store.flags = step.flags;
      make(store);
      break;
    case StepKind::kStoreLoaded:
      store.value = now_.loaded[thread];
      make(store);
      break;
    case StepKind::kCas:
      if (!holds(step)) {
        make(fence);
        break;
      }
      [[fallthrough]];
    case StepKind::kRmw:
    case StepKind::kAdd: {
      make(fence);
      store.flags = kStoreRmw;
      uint32_t sum = 0;
      for (size_t i = 0; step.kind == StepKind::kAdd && i < store.value.size(); ++i) {
        sum = (sum >> 8) + now_.pool[step.addr + i] + step.value[i];
        store.value[i] = static_cast<uint8_t>(sum);
      }
      make(store);
      break;
    }
    case StepKind::kFence:
      make({.thread = thread, .kind = EventKind::kFence, .code = step.code, .value = {}});
      break;
    case StepKind::kFlush:
      make({.thread = thread, .kind = EventKind::kFlush, .code = step.code, .addr = step.addr, .value = {}});
      break;
    case StepKind::kLoad: {
      const auto from = now_.pool.begin() + static_cast<ptrdiff_t>(step.addr);
      now_.loaded[thread].assign(from, from + static_cast<ptrdiff_t>(step.size));
      make(marker);
      break;
    }
    case StepKind::kWait:
      make(marker);
      break;
    case StepKind::kLock:
    case StepKind::kUnlock:
      now_.held[step.addr] = step.kind == StepKind::kLock ? std::optional(thread) : std::nullopt;
      make({.thread = thread, .kind = EventKind::kFence, .code = static_cast<uint8_t>(FenceKind::kLock), .value = {}});
      break;
    case StepKind::kBegin:
    case StepKind::kEnd: {
      const bool ends = step.kind == StepKind::kEnd;
      now_.history.push_back(2 * thread + ends);
      make({.thread = thread, .kind = ends ? EventKind::kOpEnd : EventKind::kOpBegin, .value = {}});
      break;
    }
  }
  ++now_.at[thread];
  now_.cuts_in_flight = now_.lines.in_flight(thread + 1) ? std::move(cuts) : std::vector<uint8_t>();
}

void ProgramMachine::make(MadeEvent event) {
  now_.made.push_back(std::move(event));
  const MadeEvent& made = now_.made.back();
  now_.lines.apply(made.event(now_.made.size() - 1));
  std::copy(made.value.begin(), made.value.end(), now_.pool.begin() + static_cast<ptrdiff_t>(made.addr));
}

struct ProgramMachine::Kept final : Mark {
  explicit Kept(const State& of) : state(of) {}
  State state;
};

std::unique_ptr<ScheduleMachine::Mark> ProgramMachine::mark() { return std::make_unique<Kept>(now_); }

// The pool stays where it is, for the lines look at it there: it has one size.
void ProgramMachine::restore(const Mark& mark) { now_ = static_cast<const Kept&>(mark).state; }

Digest ProgramMachine::state() const {
  std::string told;
  const uint64_t lines = now_.lines.state();
  tell(&lines, sizeof lines, &told);
  tell(now_.pool, &told);
  tell(now_.at, &told);
  tell(now_.history, &told);
  tell(now_.cuts_in_flight, &told);
  for (const std::vector<uint8_t>& bytes : now_.loaded) tell(bytes, &told);
  for (const std::optional<uint32_t>& thread : now_.held) told += thread ? std::to_string(*thread) + " " : "- ";
  const XXH128_hash_t hash = XXH3_128bits(told.data(), told.size());
  return {hash.high64, hash.low64};
}

Digest ProgramMachine::frontier() const {
  return {now_.lines.frontier(), XXH3_64bits(now_.history.data(), now_.history.size() * sizeof(uint32_t))};
}

}  // namespace powercut::schedules
