// Inputs of target code from outside of the image: time, randomness, process ids, the processor's number. The real ones
// would differ from execution to execution, and recovery would be no function of the image. The functions that ask for
// them are therefore interposed (virtual_world.cc, as the malloc family is in arena.cc). While target code runs they
// answer from here: the same in every execution, while it is recorded as well as while it is explored.
//
// A *variant* is another world: another date, other randomness, another process. Code that depends on the world is
// found by running it in two worlds (trie_explorer.cc).
//
// The clock never stands still, so that code which waits for a moment comes to its end: the n-th reading is n
// microseconds after the one before it, and sleeping takes no time but moves the clock. Where threads are scheduled,
// sleeping lets others go on and the clock stays. A loop which sleeps thus comes back to its state.
//
// Not covered: instructions in assembler and in code without instrumentation (rdtsc, rdrand), the vDSO called by
// address, files, sockets and the environment.
#ifndef POWERCUT_TRACER_WORLD_VIRTUAL_WORLD_H_
#define POWERCUT_TRACER_WORLD_VIRTUAL_WORLD_H_

#include <cstdint>
#include <string>

#include "tracer/world/memory_range.h"

namespace powercut {

// Requests of an execution to the world.
enum WorldSource : uint32_t {
  kWorldClock = 1u << 0,
  kWorldRandomness = 1u << 1,
  kWorldCycles = 1u << 2,  // the time stamp counter
  kWorldProcess = 1u << 3,
  kWorldProcessor = 1u << 4,
};

// Changes as target code asks, so it is undone and remembered like the target's globals.
struct alignas(8) WorldState {
  uint64_t clock_readings = 0;
  uint64_t slept = 0;  // nanoseconds
  uint64_t drawn = 0;  // of randomness, in words
  uint64_t rand_state = 1;
};

struct VirtualWorld {
  WorldState state;
  uint64_t variant = 0;
  uint32_t used = 0;  // WorldSources since somebody cleared it
  bool recording = false;
  // Told before `state` changes.
  void (*changing)(void* self) = nullptr;
  void* self = nullptr;
};

// One per process, since the functions are.
extern VirtualWorld virtual_world;

// While this lives, target code is being recorded.
class RecordedCode {
 public:
  RecordedCode() { virtual_world.recording = true; }
  ~RecordedCode() { virtual_world.recording = false; }
};

// The real number of nanoseconds since 1970 has no meaning to target code; this one has.
// Lets the hooks of rdtsc and rdrand ask here. Before target code runs.
void give_world_to_hooks();
uint64_t world_nanoseconds();
uint64_t world_cycles();
uint64_t world_random();

// "the clock and randomness".
std::string names_of_sources(uint32_t sources);

MemoryRange world_state_range();

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_VIRTUAL_WORLD_H_
