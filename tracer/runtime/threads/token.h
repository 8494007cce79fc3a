// One thread of a scheduled program has the *token* and runs; all others wait for it.
//
// The token goes to another thread before a visible event and where its thread cannot go on. Each such *decision* is
// made by the schedule, or by its tail beyond the end of the choices. The file of the schedule keeps each decision with
// the digest of all that came before, so that the driver can go back. Where no thread can go on, the run ends.
//
// Private to the scheduler of programs.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_TOKEN_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_TOKEN_H_

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/runtime/hooks/keep_errno.h"
#include "tracer/runtime/threads/place_uses.h"
#include "tracer/runtime/threads/schedule_file.h"
#include "tracer/runtime/threads/schedule_recorder.h"
#include "tracer/runtime/threads/waiting_loops.h"

namespace powercut::runtime {

inline constexpr size_t kTurns = 64;
// Nanoseconds between two readings of the clock.
inline constexpr uint64_t kTick = 1000;

enum class State : uint8_t {
  kReady,
  kLoops,    // goes round a loop: ready once another thread has changed anything
  kBlocked,  // ready once another thread changes the bytes that it waits for
  kJoins,
  kTurn,  // ready once it is the turn of its operation (Tail::kOrder)
  kEnded,
};

struct Thread {
  State state = State::kReady;
  pthread_t handle{};
  long kernel = 0;  // the kernel's number of the thread
  void* (*body)(void*) = nullptr;
  void* argument = nullptr;
  std::atomic<uint32_t> go = 0, arrived = 0;
  uint64_t wait_begin = 0, wait_end = 0;
  uint32_t joins = 0;
  bool flushes = false;  // the thread has flushed since its last fence
  uint64_t store = 0;    // the place where its last store begins
  // Of a loop's turns: memory at the last look, loads since memory last changed, visible loads, and (`turn`) digests of
  // states.
  // in.
  uint64_t seen = 0, quiet = 0, looks = 0;
  Retries retries = {};
  size_t turns = 0;
  std::array<uint64_t, kTurns> turn{};
  int rounds = 0;  // rounds of destructors at its end
};

// The number of the calling thread; 0: the scheduler does not know the thread.
extern constinit thread_local uint32_t mine;
// True while the thread runs the scheduler's or the recorder's code: hooks of that code are not the program's.
extern constinit thread_local bool busy;

class Busy {
 public:
  Busy() { busy = true; }
  ~Busy() { busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  const KeepErrno errno_;
};

class Token {
 protected:
  Token(ScheduleFile* file, const ScheduleRecorder& recorder) : file_(file), recorder_(recorder) {}

  Thread& me() { return threads_[mine]; }
  bool alone() const { return count_ == 1; }

  // Returns the set of the threads that can go on.
  uint16_t ready() const;
  // Returns the next thread of the set `of` behind `number`, by the numbers of threads.
  uint32_t behind(uint32_t number, uint16_t of) const;
  // In an order of operations: returns the thread whose turn it is, 0 where any thread may have the turn.
  uint32_t turn() const;
  bool has_turn(uint32_t number) const;
  // Returns which thread of the set `may` goes on; choosing a thread of `costly` costs a preemption.
  uint32_t decide(uint16_t may, uint16_t costly, uint32_t usual);
  // Lets `to` run. The caller goes on as well, for as long as it takes to wait or to end.
  void pass(uint32_t to);
  void await(Thread* thread);
  void go_to(uint32_t to);
  // Called before a visible event: a thread that leaves another one that could go on has preempted it.
  void step(const CallSite& site);
  // Lets other threads go on, if there are any. Going on all the same counts as a preemption.
  void yield();
  // Called when no other thread can go on: time passes, and the run ends after many such turns. A loop may change
  // something in each turn without ever ending.
  void go_on_alone();
  void pass_time(uint64_t turns);
  // The thread cannot go on before its state allows it.
  void wait(State state);
  // Called when no thread can go on. Threads that go round loops may count, or look at a clock, so they get some more
  // turns. Returns the thread that goes on.
  uint32_t idle();
  // Ends the process and its recording.
  [[noreturn]] void stop(ScheduleEnd how);
  // Notes why the schedules are not all that the program could do. The first reason is kept.
  void doubt(const char* what);

  ScheduleFile* file_;
  const ScheduleRecorder recorder_;
  // All data below belongs to the thread that has the token.
  std::array<Thread, kMostThreads + 1> threads_{};
  uint32_t count_ = 1, running_ = 1;
  long leaving_ = 0;  // a thread of the kernel that has ended and may not be gone
  MemoryDigest memory_;
  uint64_t time_ = 0, alone_ = 0;  // of the scheduler's clock; turns in which no other thread could go on
  // In an order: how many operations have ended, and the thread that is in the midst of one.
  uint32_t order_ = 0, operates_ = 0;
  uint64_t idle_ = 0;
  uint64_t so_far_ = 0;

 private:
  // Burckhardt et al., ASPLOS 2010: a thread that comes to a decision at which priorities change gets the lowest
  // priority so far.
  uint32_t by_priority(uint16_t may, uint32_t at);
  uint64_t priority(uint32_t number) const;
  [[noreturn]] void deadlocked();

  std::array<uint32_t, kMostThreads + 1> lowered_{};
  double idle_since_ = 0;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_TOKEN_H_
