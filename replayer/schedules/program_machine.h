// A machine whose threads are small programs: lists of steps over a pool of a few lines. `powercut-engine model` runs
// the litmus tests with threads on this machine (replayer/LITMUS.md, "Threads"), and search_test.cc tests the searches
// with it.
//
// A store is seen by all threads at once, or it waits in a *store buffer* of its thread. The buffers are those of
// x86-TSO (Sewell et al., CACM 2010), with flushes and `sfence` in the buffer, too. This is PTSOsyn of Khyzha and Lahav
// (POPL 2021), which has the outcomes of Px86. An entry leaves its buffer by a step of its own. One of the buffer's
// *gates* makes this step; a search leads gates as it leads threads. Gate i lets the i-th entry leave, if the order
// allows it (Raad et al., POPL 2020, order table).
#ifndef POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_
#define POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "replayer/schedules/line_states.h"
#include "replayer/schedules/machine.h"
#include "tracer/format/trace.h"

namespace powercut::schedules {

enum class StepKind : uint8_t {
  kStore,
  kNtStore,
  kRmw,  // locked, as kCas and kAdd: fences, then stores `value` as one atom
  kCas,  // stores `value` if memory holds `expected`, else nothing
  kAdd,  // adds `value`, a little-endian number
  kFence,
  kFlush,
  kLoad,         // loads `size` bytes, which the thread remembers
  kStoreLoaded,  // a plain store of the remembered bytes
  kWait,         // goes on while memory holds `expected`
  kLock,         // waits until the lock is free, takes it, and fences
  kUnlock,       // frees the lock, and fences
  kBegin,        // of an operation
  kEnd,
};

struct ThreadStep {
  StepKind kind = StepKind::kStore;
  uint8_t code = 0;   // kFence: a FenceKind; kFlush: a FlushKind
  uint8_t flags = 0;  // flags of a store, as in trace.h
  uint64_t addr = 0;  // offset in the pool; kLock and kUnlock: number of the lock
  uint64_t size = 0;  // kLoad and kStoreLoaded: number of bytes
  std::vector<uint8_t> value, expected;
};
using ThreadProgram = std::vector<std::vector<ThreadStep>>;  // by thread

// An event of the schedule at hand, as models take it.
struct MadeEvent {
  uint32_t thread = 0;  // number in the program, from 0
  EventKind kind{};
  uint8_t code = 0, flags = 0;
  uint64_t addr = 0;
  std::vector<uint8_t> value;

  // Returns the event with this index; valid as long as this object.
  Event event(uint64_t index) const;
};

// When other threads see a thread's store.
enum class Visibility : uint8_t { kAtOnce, kBuffered };

class ProgramMachine final : public ScheduleMachine {
 public:
  static constexpr size_t kMostActors = 30;
  // Returns the number of threads and gates of a program with store buffers.
  static size_t actors(const ThreadProgram& program);

  // `pool_size`: in bytes, whole lines, zero at first; the program uses no byte beyond. A thread unlocks only locks
  // that it holds, and stores as many bytes as it has loaded. `program` must outlive the machine. `caches_persist`:
  // eadr. kBuffered: no non-temporal stores, the atoms of `any`, and at most kMostActors threads and gates.
  ProgramMachine(const ThreadProgram& program, uint64_t pool_size, AtomPolicy policy, bool caches_persist,
                 Visibility visibility = Visibility::kAtOnce);
  ProgramMachine(const ProgramMachine&) = delete;
  ProgramMachine& operator=(const ProgramMachine&) = delete;

  // Returns the events of the schedule at hand. A step without effect in the models is a marker, which ends a store's
  // flight.
  const std::vector<MadeEvent>& made() const { return now_.made; }

  uint32_t threads() const override { return static_cast<uint32_t>(program_.size() + gates_.size()); }
  ThreadState state_of(uint32_t thread) const override;
  bool at_cut(uint32_t thread) const override;
  bool at_store(uint32_t thread) const override;
  void step(uint32_t thread) override;
  bool troubled() const override { return false; }
  // Deadlock is no trouble of a program: the power may fail in this state as well, and the search has looked at this
  // cut.
  void deadlocked() override {}
  void livelocked() override {}
  bool needs_restart() override { return false; }

  void keep(std::unique_ptr<Mark>* mark) override;
  void restore(const Mark& mark) override;
  Digest state() const override;
  // The obligations are the begins and ends of operations, in their order.
  Digest frontier() const override;

 private:
  // An entry of a store buffer.
  struct Entry {
    MadeEvent event;
    size_t step;  // step of the thread: pieces of one store become visible one by one, in any order
  };
  struct State {
    std::vector<uint8_t> pool;
    std::vector<std::vector<Entry>> buffers;  // by thread
    LineStates lines;
    std::vector<size_t> at;                     // the next step of each thread
    std::vector<std::vector<uint8_t>> loaded;   // by thread
    std::vector<std::optional<uint32_t>> held;  // by lock: the thread that holds the lock
    std::vector<uint32_t> history;              // begins and ends
    // Threads that stood at a cut before the store that is landing (eadr). The store may have woken some of these
    // threads, or changed their next steps. Nevertheless they have not gone on at a cut in the middle of the store.
    std::vector<uint8_t> cuts_in_flight;
    std::vector<MadeEvent> made;
  };
  struct Kept;

  uint32_t program_threads() const { return static_cast<uint32_t>(program_.size()); }
  const ThreadStep* next_of(uint32_t thread) const;
  std::vector<uint8_t> seen(uint32_t thread, uint64_t addr, size_t size) const;
  bool holds(uint32_t thread, const ThreadStep& step) const;  // whether the thread sees the value that the step expects
  bool stands_at_cut(uint32_t thread) const;
  // Returns the entry that a gate lets leave; null if there is none or it may not leave.
  const Entry* leaves_by(uint32_t gate) const;
  static bool may_pass(const Entry& later, const Entry& earlier);
  void leave_by(uint32_t gate);
  void make_step(uint32_t thread);
  // Puts the event into the store buffer, or makes it at once.
  void issue(MadeEvent event);
  void make(MadeEvent event);

  const ThreadProgram& program_;
  bool eadr_;
  bool buffered_;
  struct Gate {
    uint32_t thread;
    size_t place;  // index in the thread's buffer
  };
  std::vector<Gate> gates_;  // none without store buffers
  State now_;
};

}  // namespace powercut::schedules
#endif  // POWERCUT_REPLAYER_SCHEDULES_PROGRAM_MACHINE_H_
