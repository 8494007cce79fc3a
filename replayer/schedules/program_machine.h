// For tests: threads that are lists of events, on a pool of two lines. Every event is visible to all.
#ifndef POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_
#define POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_

#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "replayer/schedules/line_states.h"
#include "replayer/schedules/machine.h"
#include "tracer/format/trace.h"
#include "xxhash.h"

namespace powercut::schedules {

// An event of a program. Stores are of 8 bytes that all hold `value`.
struct ThreadEvent {
  EventKind kind = EventKind::kStore;
  uint8_t code = 0, flags = 0, value = 0;
  uint64_t offset = 0;
};
using ThreadProgram = std::vector<std::vector<ThreadEvent>>;  // by thread

struct Bytes {
  std::array<uint8_t, 128> pool{};
};

// The event as a model takes it; its value lies in `room`.
inline Event event_of(const ThreadEvent& event, uint32_t thread, uint64_t index, std::array<uint8_t, 8>* room) {
  Event out;
  out.kind = event.kind;
  out.code = event.code;
  out.flags = event.flags;
  out.thread = thread;
  out.index = index;
  out.addr = event.offset;
  if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) {
    room->fill(event.value);
    out.value = *room;
    out.size = room->size();
  }
  return out;
}

class ProgramMachine final : public ScheduleMachine {
 public:
  ProgramMachine(const ThreadProgram& program, bool caches_persist)
      : program_(program),
        eadr_(caches_persist),
        at_(program.size()),
        lines_(AtomPolicy::kAny, caches_persist, bytes_.pool.data()) {}

  const std::vector<size_t>& at() const { return at_; }
  const std::vector<std::pair<uint32_t, ThreadEvent>>& made() const { return made_; }

  uint32_t threads() const override { return static_cast<uint32_t>(program_.size()); }
  ThreadState state_of(uint32_t thread) const override {
    return at_[thread] == program_[thread].size() ? ThreadState::kEnded : ThreadState::kReady;
  }
  bool at_cut(uint32_t thread) const override {
    if (at_[thread] == program_[thread].size() || lines_.in_flight(thread + 1)) return true;
    const ThreadEvent& next = program_[thread][at_[thread]];
    switch (next.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        return eadr_;
      case EventKind::kFlush:
        return next.code == static_cast<uint8_t>(FlushKind::kClflush) && lines_.clflush_raises(next.offset);
      case EventKind::kFence:
        return lines_.drains(thread + 1);
      default:
        return true;
    }
  }
  bool at_store(uint32_t thread) const override {
    return eadr_ && at_[thread] < program_[thread].size() && program_[thread][at_[thread]].kind <= EventKind::kNtStore;
  }
  void step(uint32_t thread) override {
    const ThreadEvent& event = program_[thread][at_[thread]++];
    std::array<uint8_t, 8> room;
    const Event told = event_of(event, thread + 1, made_.size(), &room);
    lines_.apply(told);
    std::memcpy(bytes_.pool.data() + event.offset, told.value.data(), told.value.size());
    made_.emplace_back(thread, event);
  }
  bool troubled() const override { return false; }
  void deadlocked() override {}
  void livelocked() override {}
  bool needs_restart() override { return false; }

  std::unique_ptr<Mark> mark() override { return std::make_unique<State>(*this); }
  void restore(const Mark& mark) override {
    const auto& state = static_cast<const State&>(mark);
    bytes_ = state.bytes;
    at_ = state.at;
    lines_ = state.lines;
    made_ = state.made;
  }
  Digest state() const override {
    return {XXH3_64bits(bytes_.pool.data(), bytes_.pool.size()) ^ lines_.state(),
            XXH3_64bits(at_.data(), at_.size() * sizeof at_[0])};
  }
  // Operations that have begun and ended are the obligations here.
  Digest frontier() const override {
    uint64_t history = 0;
    for (uint32_t thread = 0; thread < threads(); ++thread) {
      for (size_t i = 0; i < at_[thread]; ++i) {
        const EventKind kind = program_[thread][i].kind;
        history += kind == EventKind::kOpBegin || kind == EventKind::kOpEnd ? uint64_t{1} << (16 * thread) : 0;
      }
    }
    return {lines_.frontier(), history};
  }

 private:
  struct State final : Mark {
    explicit State(const ProgramMachine& of) : bytes(of.bytes_), at(of.at_), lines(of.lines_), made(of.made_) {}
    Bytes bytes;
    std::vector<size_t> at;
    LineStates lines;
    std::vector<std::pair<uint32_t, ThreadEvent>> made;
  };

  const ThreadProgram& program_;
  bool eadr_;
  Bytes bytes_;
  std::vector<size_t> at_;
  LineStates lines_;
  std::vector<std::pair<uint32_t, ThreadEvent>> made_;
};

}  // namespace powercut::schedules
#endif  // POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_
