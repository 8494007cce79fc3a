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

bool is_sfence(const ThreadStep& step) {
  return step.kind == StepKind::kFence && step.code == static_cast<uint8_t>(FenceKind::kSfence);
}

// Returns the number of entries that the step puts into the store buffer.
size_t pieces_of(const ThreadStep& step) {
  const size_t size = step.kind == StepKind::kStoreLoaded ? step.size : step.value.size();
  if (step.kind == StepKind::kFlush || is_sfence(step)) return 1;
  if (step.kind != StepKind::kStore && step.kind != StepKind::kStoreLoaded) return 0;
  return size == 0 ? 0 : (step.addr + size - 1) / 8 - step.addr / 8 + 1;
}

// Returns whether the step waits until the thread's store buffer is empty: mfence and locked instructions do.
bool empties_buffer(const ThreadStep& step) {
  switch (step.kind) {
    case StepKind::kRmw:
    case StepKind::kCas:
    case StepKind::kAdd:
    case StepKind::kLock:
    case StepKind::kUnlock:
      return true;
    case StepKind::kFence:
      return !is_sfence(step);
    case StepKind::kStore:
    case StepKind::kNtStore:
    case StepKind::kFlush:
    case StepKind::kLoad:
    case StepKind::kStoreLoaded:
    case StepKind::kWait:
    case StepKind::kBegin:
    case StepKind::kEnd:
      break;
  }
  return false;
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

size_t ProgramMachine::actors(const ThreadProgram& program) {
  size_t out = program.size();
  for (const std::vector<ThreadStep>& steps : program) {
    for (const ThreadStep& step : steps) out += pieces_of(step);
  }
  return out;
}

ProgramMachine::ProgramMachine(const ThreadProgram& program, uint64_t pool_size, AtomPolicy policy, bool caches_persist,
                               Visibility visibility)
    : program_(program),
      eadr_(caches_persist),
      buffered_(visibility == Visibility::kBuffered),
      now_{.pool = std::vector<uint8_t>(pool_size),
           .buffers = std::vector<std::vector<Entry>>(program.size()),
           .lines = LineStates(policy, caches_persist, nullptr),
           .at = std::vector<size_t>(program.size()),
           .loaded = std::vector<std::vector<uint8_t>>(program.size()),
           .held = {},
           .history = {},
           .cuts_in_flight = {},
           .made = {}} {
  now_.lines = LineStates(policy, caches_persist, now_.pool.data());
  for (uint32_t thread = 0; buffered_ && thread < program_threads(); ++thread) {
    size_t entries = 0;
    for (const ThreadStep& step : program[thread]) entries += pieces_of(step);
    for (size_t place = 0; place < entries; ++place) gates_.push_back({thread, place});
  }
  for (const std::vector<ThreadStep>& steps : program) {
    for (const ThreadStep& step : steps) {
      if (step.kind == StepKind::kLock) now_.held.resize(std::max<size_t>(now_.held.size(), step.addr + 1));
    }
  }
}

const ThreadStep* ProgramMachine::next_of(uint32_t thread) const {
  return now_.at[thread] < program_[thread].size() ? &program_[thread][now_.at[thread]] : nullptr;
}

// Returns the bytes that the thread sees: memory, with the entries of the thread's own buffer laid over it.
std::vector<uint8_t> ProgramMachine::seen(uint32_t thread, uint64_t addr, size_t size) const {
  const auto from = now_.pool.begin() + static_cast<ptrdiff_t>(addr);
  std::vector<uint8_t> out(from, from + static_cast<ptrdiff_t>(size));
  for (const Entry& entry : now_.buffers[thread]) {
    for (size_t i = 0; i < entry.event.value.size(); ++i) {
      const uint64_t at = entry.event.addr + i - addr;
      if (at < size) out[at] = entry.event.value[i];
    }
  }
  return out;
}

bool ProgramMachine::holds(uint32_t thread, const ThreadStep& step) const {
  return seen(thread, step.addr, step.expected.size()) == step.expected;
}

// ---- gates -----------------------------------------------------------------------------------------

// Returns whether `later` may leave the buffer before `earlier`, as the order table says.
bool ProgramMachine::may_pass(const Entry& later, const Entry& earlier) {
  const auto is = [](const Entry& entry, EventKind kind) { return entry.event.kind == kind; };
  const auto is_clflush = [&](const Entry& entry) {
    return is(entry, EventKind::kFlush) && entry.event.code == static_cast<uint8_t>(FlushKind::kClflush);
  };
  const auto is_clwb = [&](const Entry& entry) { return is(entry, EventKind::kFlush) && !is_clflush(entry); };
  const bool other_line = earlier.event.addr / kLineSize != later.event.addr / kLineSize;
  if (is(later, EventKind::kStore)) return is_clwb(earlier) || earlier.step == later.step;
  if (is_clflush(later)) return is_clwb(earlier) && other_line;
  return is_clwb(later) && !is(earlier, EventKind::kFence) && (is_clwb(earlier) || other_line);
}

const ProgramMachine::Entry* ProgramMachine::leaves_by(uint32_t gate) const {
  const auto [thread, place] = gates_[gate - program_threads()];
  const std::vector<Entry>& buffer = now_.buffers[thread];
  if (place >= buffer.size()) return nullptr;
  const auto leaving = buffer.begin() + static_cast<ptrdiff_t>(place);
  const bool may =
      std::all_of(buffer.begin(), leaving, [&](const Entry& earlier) { return may_pass(*leaving, earlier); });
  return may ? &*leaving : nullptr;
}

void ProgramMachine::leave_by(uint32_t gate) {
  const Entry* leaving = leaves_by(gate);
  std::vector<Entry>& buffer = now_.buffers[leaving->event.thread];
  MadeEvent event = leaving->event;
  buffer.erase(buffer.begin() + (leaving - buffer.data()));
  make(std::move(event));
}

// Makes one entry for each word, since words become visible one by one.
void ProgramMachine::issue(MadeEvent event) {
  if (!buffered_) return make(std::move(event));
  std::vector<Entry>& buffer = now_.buffers[event.thread];
  const size_t step = now_.at[event.thread];
  if (event.kind != EventKind::kStore) {
    buffer.push_back({std::move(event), step});
    return;
  }
  for (size_t at = 0; at < event.value.size();) {
    const size_t size = std::min(event.value.size() - at, 8 - (event.addr + at) % 8);
    MadeEvent piece = event;
    piece.addr = event.addr + at;
    const auto from = event.value.begin() + static_cast<ptrdiff_t>(at);
    piece.value.assign(from, from + static_cast<ptrdiff_t>(size));
    buffer.push_back({std::move(piece), step});
    at += size;
  }
}

// ---- threads ---------------------------------------------------------------------------------------

ThreadState ProgramMachine::state_of(uint32_t thread) const {
  if (thread >= program_threads()) return leaves_by(thread) == nullptr ? ThreadState::kEnded : ThreadState::kReady;
  const ThreadStep* next = next_of(thread);
  if (next == nullptr) return ThreadState::kEnded;
  const bool waits = (next->kind == StepKind::kWait && !holds(thread, *next)) ||
                     (next->kind == StepKind::kLock && now_.held[next->addr].has_value()) ||
                     (empties_buffer(*next) && !now_.buffers[thread].empty());
  return waits ? ThreadState::kWaiting : ThreadState::kReady;
}

bool ProgramMachine::stands_at_cut(uint32_t thread) const {
  if (state_of(thread) != ThreadState::kReady || at_store(thread)) return true;
  if (thread >= program_threads()) {
    const MadeEvent& next = leaves_by(thread)->event;
    if (next.kind == EventKind::kFence) return now_.lines.drains(next.thread + 1);
    return next.kind == EventKind::kFlush && next.code == static_cast<uint8_t>(FlushKind::kClflush) &&
           now_.lines.clflush_raises(next.addr);
  }
  const ThreadStep& next = *next_of(thread);
  // A step that only fills the buffer is visible to no other thread.
  if (buffered_ && pieces_of(next) > 0) return false;
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
    case StepKind::kStore:
    case StepKind::kNtStore:
    case StepKind::kLoad:
    case StepKind::kStoreLoaded:
    case StepKind::kWait:
      break;
  }
  return false;
}

bool ProgramMachine::at_cut(uint32_t thread) const {
  return now_.cuts_in_flight.empty() ? stands_at_cut(thread) : now_.cuts_in_flight[thread] != 0;
}

bool ProgramMachine::at_store(uint32_t thread) const {
  if (!eadr_) return false;
  if (thread >= program_threads()) {
    const Entry* leaving = leaves_by(thread);
    return leaving != nullptr && leaving->event.kind == EventKind::kStore;
  }
  const ThreadStep* next = next_of(thread);
  if (next == nullptr || (buffered_ && (pieces_of(*next) > 0 || !now_.buffers[thread].empty()))) return false;
  switch (next->kind) {
    case StepKind::kStore:
    case StepKind::kNtStore:
    case StepKind::kRmw:
    case StepKind::kAdd:
    case StepKind::kStoreLoaded:
      return true;
    case StepKind::kCas:
      return holds(thread, *next);
    case StepKind::kFence:
    case StepKind::kFlush:
    case StepKind::kLoad:
    case StepKind::kWait:
    case StepKind::kLock:
    case StepKind::kUnlock:
    case StepKind::kBegin:
    case StepKind::kEnd:
      break;
  }
  return false;
}

void ProgramMachine::step(uint32_t thread) {
  std::vector<uint8_t> cuts(threads());
  for (uint32_t other = 0; other < threads(); ++other) cuts[other] = stands_at_cut(other);
  const uint32_t storing = thread < program_threads() ? thread : leaves_by(thread)->event.thread;
  thread < program_threads() ? make_step(thread) : leave_by(thread);
  now_.cuts_in_flight = now_.lines.in_flight(storing + 1) ? std::move(cuts) : std::vector<uint8_t>();
}

void ProgramMachine::make_step(uint32_t thread) {
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
      issue(store);
      break;
    case StepKind::kStoreLoaded:
      store.value = now_.loaded[thread];
      issue(store);
      break;
    case StepKind::kCas:
      if (!holds(thread, step)) {
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
    case StepKind::kFence: {
      const MadeEvent made{.thread = thread, .kind = EventKind::kFence, .code = step.code, .value = {}};
      empties_buffer(step) ? make(made) : issue(made);
      break;
    }
    case StepKind::kFlush:
      issue({.thread = thread, .kind = EventKind::kFlush, .code = step.code, .addr = step.addr, .value = {}});
      break;
    case StepKind::kLoad:
      now_.loaded[thread] = seen(thread, step.addr, step.size);
      make(marker);
      break;
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

void ProgramMachine::keep(std::unique_ptr<Mark>* mark) { *mark = std::make_unique<Kept>(now_); }

// The pool's size never changes, so the assignment keeps its address; `lines` points to the pool.
void ProgramMachine::restore(const Mark& mark) { now_ = static_cast<const Kept&>(mark).state; }

Digest ProgramMachine::state() const {
  std::string told;
  const uint64_t lines = now_.lines.state();
  tell(&lines, sizeof lines, &told);
  tell(now_.pool, &told);
  tell(now_.at, &told);
  tell(now_.history, &told);
  tell(now_.cuts_in_flight, &told);
  for (const std::vector<Entry>& buffer : now_.buffers) {
    told += std::to_string(buffer.size()) + " ";
    for (const Entry& entry : buffer) {
      tell(&entry.step, sizeof entry.step, &told);
      tell(&entry.event.addr, sizeof entry.event.addr, &told);
      tell(entry.event.value, &told);
    }
  }
  for (const std::vector<uint8_t>& bytes : now_.loaded) tell(bytes, &told);
  for (const std::optional<uint32_t>& thread : now_.held) told += thread ? std::to_string(*thread) + " " : "- ";
  const XXH128_hash_t hash = XXH3_128bits(told.data(), told.size());
  return {hash.high64, hash.low64};
}

Digest ProgramMachine::frontier() const {
  return {now_.lines.frontier(), XXH3_64bits(now_.history.data(), now_.history.size() * sizeof(uint32_t))};
}

}  // namespace powercut::schedules
