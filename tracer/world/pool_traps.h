// Accesses of the watched pool that no hook announced: by libc, by libraries that were not compiled through the pass,
// by inline assembly, by copies that only the code generator makes. Nothing of the pool is accessible at its own
// address (pool_memory.h), so each of them faults. The handler decodes the instruction and announces what it does to
// the one listener, as a hook would; then it lets the instruction run, alone, on a copy of the bytes that it names, and
// takes over what it stored.
//
//   load             announced, then executed on the bytes that the listener left
//   store            executed on the side, announced with the bytes that it wrote, then made
//   locked, xchg     rmw_begin, executed, rmw_end
//   clwb and its kin announced, not executed
//   rep movs, stos   one load and one store of the whole range
//
// After a flush or a non-temporal store by such code, its next instructions are stepped through one by one. Stepping
// ends when its fence is seen or instrumented code is reached.
//
// If the handler cannot follow an instruction, the client gets it and ends the execution as *unknown*.
//
// Known inaccuracies. A vector load is announced as wide as its operand, also where a mask leaves lanes out: more
// branches, the same results. A fence of uninstrumented code is not seen if the code neither flushed nor stored around
// the cache before. Floors are then fewer, and more crash states are looked at than there are. The kernel does not
// fault but answers EFAULT (kernel_calls.cc of the runtime stands before its calls).
#ifndef POWERCUT_TRACER_WORLD_POOL_TRAPS_H_
#define POWERCUT_TRACER_WORLD_POOL_TRAPS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace powercut {

// All are called inside the signal handler.
struct TrapClient {
  // Target code runs, so that an access of the pool is its; and it runs at `pc`, if that is not 0.
  bool (*running)(uint64_t pc) = nullptr;
  // An access that cannot be followed. Must not return.
  void (*cannot_follow)(const std::string& what, const void* pc, const void* frame) = nullptr;
  // It waits for a lock in the pool that nobody will release. Must not return.
  void (*blocked)(const void* pc, const void* frame) = nullptr;
};

// From now on accesses of the watched pool are announced. Signals that are of another kind go to whoever had a handler
// before. Once in a process for each client.
void watch_traps(uint64_t pool_size, const TrapClient& client);

// An execution begins.
void begin_traps();
// Whether any execution of this client accessed the pool without a hook.
bool traps_ever();
// The client is gone. The next one begins as in a process of its own.
void unwatch_traps();

// To be called when a jump of the listener's leaves the handler: the access at hand is not done.
void leave_trap();

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_POOL_TRAPS_H_
