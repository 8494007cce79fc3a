// The seam between instrumented code, the tracer's runtime, and whoever listens (the recorder, the recovery executor).
// The compiler pass emits calls to the `__powercut_*` functions. The runtime (libpowercut_rt.so) forwards each call to
// the one active `powercut_sink`.
//
// Order: every hook runs BEFORE the instruction that it announces. A sink may therefore veto a store (by unwinding), or
// keep the old bytes for undo. It may also fill in undecided bytes that a load is about to see.
// Place: a hook of an access returns the address at which the access is to be made. The hook returns the address that
// it was given, except in a pool whose bytes lie elsewhere (powercut_alias).
// Version: POWERCUT_HOOKS_VERSION; an object built by another version is refused at registration.
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POWERCUT_HOOKS_VERSION 2u

// A half-open window of addresses. The pass tests `addr - base < span` inline (unsigned) and calls the hook only inside
// the window. {0,0}: no access has a hook. {0,~0}: every access has one.
typedef struct powercut_window {
  uint64_t base;
  uint64_t span;
} powercut_window;

extern powercut_window __powercut_store_window;
extern powercut_window __powercut_load_window;
// A pool whose bytes are kept at `delta` above the addresses that the program knows. The range [base, base + span)
// itself is not accessible, so that an access without a hook faults (tracer/world/pool_traps.h). {0,0,0}: there is no
// such pool; a program of the user's never has one.
typedef struct powercut_alias {
  uint64_t base;
  uint64_t span;
  uint64_t delta;
} powercut_alias;
extern powercut_alias __powercut_alias;
// Instrumented code decrements the counter inline at every loop back-edge and function entry. Below zero the code calls
// __powercut_out_of_steps().
extern int64_t __powercut_steps;
// Non-zero: the real flush and fence instructions execute as well (the default, for real persistent memory). The engine
// sets 0: its pool is ordinary memory, and a real clwb costs more than the hook.
extern uint8_t __powercut_real_flush;

enum powercut_store_flags {
  POWERCUT_STORE_NT = 1u << 0,         // non-temporal
  POWERCUT_STORE_ATOMIC = 1u << 1,     // C11 atomic (no fence by itself)
  POWERCUT_STORE_MEMCALL = 1u << 2,    // from mem*/str* or an intrinsic that lowers to such a call
  POWERCUT_STORE_RMW = 1u << 3,        // the store of a locked read-modify-write (its fence was announced before)
  POWERCUT_STORE_CONTINUES = 1u << 4,  // a further piece of the store before it: nothing else happened in between
  POWERCUT_STORE_IN_STEP = 1u << 5,    // belongs to the step that a scheduler was told of (thread_hooks.h)
};
// Kinds of flushes and fences. Force: a device's word is durable at once (powercut/block.h, powercut/flash.h). Device
// flush: all words of the device are durable at once.
enum powercut_flush_kind { POWERCUT_CLWB = 1, POWERCUT_CLFLUSHOPT = 2, POWERCUT_CLFLUSH = 3, POWERCUT_FORCE = 4 };
enum powercut_fence_kind {
  POWERCUT_SFENCE = 1,
  POWERCUT_MFENCE = 2,
  POWERCUT_RMW_FENCE = 3,
  POWERCUT_LOCK_FENCE = 4,
  POWERCUT_DEVICE_FLUSH = 5
};

// ---- emitted by the pass ----------------------------------------------------------------------
// Announces a store; `value` points at the `size` bytes about to be stored. Called only inside the store window.
void* __powercut_store(void* addr, uint64_t size, uint32_t flags, const void* value);
// Announces a load. Called only inside the load window.
void* __powercut_load(const void* addr, uint64_t size);
// Both hooks stand around an atomicrmw or cmpxchg inside the store window; `stored` is 0 for a failed cmpxchg. The hook
// rmw_begin announces the load, keeps old bytes and fences; rmw_end announces the store (value read from memory). A
// read-modify-write outside the window calls __powercut_fence(POWERCUT_RMW_FENCE) alone. Both hooks are given the
// program's address.
void* __powercut_rmw_begin(void* addr, uint64_t size);
void __powercut_rmw_end(void* addr, uint64_t size, uint32_t stored);
void __powercut_flush(const void* addr, uint32_t kind);
void __powercut_fence(uint32_t kind);
void __powercut_out_of_steps(void);
// Both return the word that the program gets in the place of `real`: from rdtsc and its kin, and from rdrand and
// rdseed.
uint64_t __powercut_cycles(uint64_t real);
uint64_t __powercut_random(uint64_t real);
// Calls of mem*/str* functions are replaced by __powercut_<name>, which has the signature and result of libc's
// function. Calls by which code asks something of other threads are replaced likewise (thread_hooks.h).

// Called once for each instrumented module, from a constructor. `externals`: names of the functions that the module
// calls, that were not instrumented with the module and that are not known to be harmless.
void __powercut_module(uint32_t hooks_version, const char* source, const char* const* externals, uint32_t count);

// ---- for the listener --------------------------------------------------------------------------
// Every pointer may be null (= ignore). `pc` is the return address into the instrumented code, `frame`
// its frame pointer (instrumented code keeps frame pointers), for a stack walk.
typedef struct powercut_sink {
  void* self;
  void (*store)(void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                const void* frame);
  void (*load)(void* self, uint64_t addr, uint64_t size);
  void (*rmw_begin)(void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame);
  void (*rmw_end)(void* self, uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame);
  void (*flush)(void* self, uint64_t addr, uint32_t kind, const void* pc, const void* frame);
  void (*fence)(void* self, uint32_t kind, const void* pc, const void* frame);
  // `live`: all that the code's next instructions depend on, besides memory: the registers that a call keeps (r15, r14,
  // r13, r12, rbx, rbp), the return address into the instrumented code, and its stack.
  void (*out_of_steps)(void* self, const uint64_t* live);
  void (*mark)(void* self, const char* name);  // powercut_mark(): a named place that a scenario may expect or cut at
  // `branches` may be null; otherwise it is asked before a load is announced, and answers whether `branch` is to be
  // called. `branch` is given the state in which the hook returns to the code, or goes on in a function of the runtime
  // (`live` as above). `branch` need not return: the listener may let the code go on from that state, any number of
  // times, with the address of the load's bytes in rax. A load that branches may be announced as well, or not.
  int (*branches)(void* self, uint64_t addr, uint64_t size);
  void (*branch)(void* self, uint64_t addr, uint64_t size, const uint64_t* live);
} powercut_sink;

// While `to` is not null, each hook of an access, a flush or a fence that instrumented code calls fills `to`. The words
// are all that the code's next instructions depend on, besides memory: the registers that a call keeps (r15, r14, r13,
// r12, rbx, rbp), and the address of the code's stack, where the return address lies. The mem*/str* functions do not
// fill `to`.
void powercut_keep_live(uint64_t* to);
// Installs the listener for the whole process; null removes the listener. Not thread-safe: call the function while no
// instrumented code runs.
void powercut_set_sink(const powercut_sink* sink);
// Copies the active listener to `out`, with every pointer callable: for a listener that puts itself in front of the
// active one.
void powercut_get_sink(powercut_sink* out);
// The functions that answer __powercut_cycles() and __powercut_random(); null: the answer is `real` itself.
extern uint64_t (*powercut_world_cycles)(uint64_t real);
extern uint64_t (*powercut_world_random)(uint64_t real);
// Called by target code through powercut/pmem.h.
void powercut_mark(const char* name);
// Walks saved frame pointers from `frame`; writes `pc` and at most `max - 1` return addresses (innermost first). Stops
// at a frame outside the thread's stack. Returns how many addresses were written.
uint32_t powercut_stack(const void* pc, const void* frame, uint64_t* out, uint32_t max);
// Returns non-zero if powercut_stack(pc, frame, …, max) would write exactly the `count` addresses of `known`: for
// listeners that meet the same few stacks again and again.
int powercut_stack_is(const void* pc, const void* frame, const uint64_t* known, uint32_t count, uint32_t max);
// From now on the calling thread's walks stay within [low, high). The range is another stack (a fiber's), or the part
// of the thread's own stack below a listener's frames, which say nothing about the program. Both null: walks may use
// the thread's whole stack.
void powercut_stack_range(const void* low, const void* high);
// Returns whose code lies at the address: of a library or program that has an instrumented module, of this runtime, or
// of neither.
enum powercut_code_kind { POWERCUT_FOREIGN = 0, POWERCUT_INSTRUMENTED = 1, POWERCUT_RUNTIME = 2 };
int powercut_code(const void* pc);
// Returns how many modules were registered.
uint32_t powercut_modules(void);
// Writes the names of uninstrumented functions that registered modules call, de-duplicated; returns their number.
uint32_t powercut_externals(const char** out, uint32_t max);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_H_
