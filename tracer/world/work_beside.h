// The work that an open table's own threads would do while a query runs (powercut_background of the target ABI). A
// query has no other thread: where its state comes back, the engine lets each of these threads do one batch of its
// work, and goes on.
#ifndef POWERCUT_TRACER_WORLD_WORK_BESIDE_H_
#define POWERCUT_TRACER_WORLD_WORK_BESIDE_H_

namespace powercut {

struct WorkBeside {
  // [target] One batch of each thread; whether one of them had something to do. Null: there is nobody who works.
  bool (*work)(void* self) = nullptr;
  void* self = nullptr;
};

// State of the execution at hand: the runner of a query sets it, and every execution begins without it.
inline WorkBeside work_beside;

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_WORK_BESIDE_H_
