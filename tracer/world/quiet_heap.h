// The engine's own allocations while target code is on the stack: in hooks, signal handlers and callbacks.
#ifndef POWERCUT_TRACER_WORLD_QUIET_HEAP_H_
#define POWERCUT_TRACER_WORLD_QUIET_HEAP_H_

#include "tracer/world/arena.h"

namespace powercut {

// Allocations in this scope are the engine's and outlive the execution. A jump out of the scope leaves the target's
// heap off, as the place that it leads to wants.
class QuietHeap {
 public:
  QuietHeap() : before_(arena_active) { arena_active = false; }
  ~QuietHeap() { arena_active = before_; }
  QuietHeap(const QuietHeap&) = delete;
  QuietHeap& operator=(const QuietHeap&) = delete;

 private:
  const bool before_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_QUIET_HEAP_H_
