// The hooks of plain accesses, flushes and fences: each forwards to the one active sink.
#include <cstring>

#include "powercut/block.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/stack_bounds.h"
#include "tracer/runtime/live_registers.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/runtime/watch_hooks.h"

namespace powercut::runtime {
namespace {

void no_store(void*, uint64_t, uint64_t, uint32_t, const void*, const void*, const void*) {}
void no_load(void*, uint64_t, uint64_t) {}
void no_rmw_begin(void*, uint64_t, uint64_t, const void*, const void*) {}
void no_rmw_end(void*, uint64_t, uint64_t, uint32_t, const void*, const void*) {}
void no_flush(void*, uint64_t, uint32_t, const void*, const void*) {}
void no_fence(void*, uint32_t, const void*, const void*) {}
void no_out_of_steps(void*, const uint64_t*) {}
void no_mark(void*, const char*) {}

constexpr powercut_sink kDeaf = {nullptr,  no_store,        no_load, no_rmw_begin, no_rmw_end, no_flush,
                                 no_fence, no_out_of_steps, no_mark, nullptr,      nullptr};

template <typename Function>
Function* or_else(Function* given, Function* fallback) {
  return given != nullptr ? given : fallback;
}

}  // namespace

constinit powercut_sink active_sink = kDeaf;

}  // namespace powercut::runtime

using powercut::runtime::active_sink;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::place_of;
using powercut::runtime::wants_branch;

// Puts the registers that a call keeps in one piece with the caller's stack, and calls `function` with the piece's
// address in the register `argument`. The frame pointer is as in a function which pushes it first.
#define POWERCUT_WITH_LIVE_STATE(function, argument) \
  asm(POWERCUT_PUSH_LIVE_REGISTERS                   \
      "lea 40(%rsp), %rbp\n\t"                       \
      "mov %rsp, %" argument                         \
      "\n\t"                                         \
      "sub $8, %rsp\n\t"                             \
      "call " function                               \
      "@PLT\n\t"                                     \
      "add $8, %rsp\n\t" POWERCUT_POP_LIVE_REGISTERS "ret")

// The body of a hook that keeps live registers (powercut_keep_live) and goes on in `function`. The hook jumps, so
// `function` finds the stack as if the code had called it. No caller or callee keeps anything in r11 at a call.
#define POWERCUT_KEEPING_LIVE(function)   \
  asm("mov powercut_live(%rip), %r11\n\t" \
      "test %r11, %r11\n\t"               \
      "jz " function                      \
      "\n\t"                              \
      "mov %r15, (%r11)\n\t"              \
      "mov %r14, 8(%r11)\n\t"             \
      "mov %r13, 16(%r11)\n\t"            \
      "mov %r12, 24(%r11)\n\t"            \
      "mov %rbx, 32(%r11)\n\t"            \
      "mov %rbp, 40(%r11)\n\t"            \
      "mov %rsp, 48(%r11)\n\t"            \
      "jmp " function)

// Used only by the assembly above, and hidden from other libraries.
#define POWERCUT_INSIDE [[gnu::used, gnu::visibility("hidden")]]

extern "C" {

POWERCUT_INSIDE uint64_t* powercut_live = nullptr;

powercut_window __powercut_store_window = {0, 0};
powercut_window __powercut_load_window = {0, 0};
powercut_alias __powercut_alias = {0, 0, 0};
powercut_watch __powercut_watch = {nullptr, nullptr};
powercut_scheduler __powercut_scheduler = {};
int64_t __powercut_steps = INT64_MAX;
uint8_t __powercut_real_flush = 1;

POWERCUT_INSIDE void* powercut_do_store(void* addr, uint64_t size, uint32_t flags, const void* value) {
  const CallSite site = call_site();
  active_sink.store(active_sink.self, reinterpret_cast<uint64_t>(addr), size, flags, value, site.pc, site.frame);
  return place_of(addr);
}

[[gnu::naked]] void* __powercut_store(void*, uint64_t, uint32_t, const void*) {
  POWERCUT_KEEPING_LIVE("powercut_do_store");
}

[[gnu::used]] void* powercut_at_branch(const void* addr, uint64_t size, const uint64_t* live) {
  active_sink.branch(active_sink.self, reinterpret_cast<uint64_t>(addr), size, live);
  return const_cast<void*>(place_of(addr));
}

[[gnu::naked]] void* powercut_branch(const void*, uint64_t) { POWERCUT_WITH_LIVE_STATE("powercut_at_branch", "rdx"); }

POWERCUT_INSIDE void* powercut_do_load(const void* addr, uint64_t size) {
  // A jump: the listener gets the caller's state, as if the caller had called powercut_branch() itself.
  if (wants_branch(reinterpret_cast<uint64_t>(addr), size)) [[clang::musttail]]
    return powercut_branch(addr, size);
  active_sink.load(active_sink.self, reinterpret_cast<uint64_t>(addr), size);
  return const_cast<void*>(place_of(addr));
}

[[gnu::naked]] void* __powercut_load(const void*, uint64_t) { POWERCUT_KEEPING_LIVE("powercut_do_load"); }

POWERCUT_INSIDE void* powercut_do_rmw_begin(void* addr, uint64_t size) {
  const CallSite site = call_site();
  if (wants_branch(reinterpret_cast<uint64_t>(addr), size)) powercut_branch(addr, size);
  active_sink.rmw_begin(active_sink.self, reinterpret_cast<uint64_t>(addr), size, site.pc, site.frame);
  return place_of(addr);
}

[[gnu::naked]] void* __powercut_rmw_begin(void*, uint64_t) { POWERCUT_KEEPING_LIVE("powercut_do_rmw_begin"); }

POWERCUT_INSIDE void powercut_do_rmw_end(void* addr, uint64_t size, uint32_t stored) {
  const CallSite site = call_site();
  active_sink.rmw_end(active_sink.self, reinterpret_cast<uint64_t>(addr), size, stored, site.pc, site.frame);
}

[[gnu::naked]] void __powercut_rmw_end(void*, uint64_t, uint32_t) { POWERCUT_KEEPING_LIVE("powercut_do_rmw_end"); }

POWERCUT_INSIDE void powercut_do_flush(const void* addr, uint32_t kind) {
  const CallSite site = call_site();
  active_sink.flush(active_sink.self, reinterpret_cast<uint64_t>(addr), kind, site.pc, site.frame);
}

[[gnu::naked]] void __powercut_flush(const void*, uint32_t) { POWERCUT_KEEPING_LIVE("powercut_do_flush"); }

POWERCUT_INSIDE void powercut_do_fence(uint32_t kind) {
  const CallSite site = call_site();
  active_sink.fence(active_sink.self, kind, site.pc, site.frame);
}

[[gnu::naked]] void __powercut_fence(uint32_t) { POWERCUT_KEEPING_LIVE("powercut_do_fence"); }

POWERCUT_INSIDE void powercut_do_device_flush() {
  const CallSite site = call_site();
  active_sink.fence(active_sink.self, POWERCUT_DEVICE_FLUSH, site.pc, site.frame);
}

[[gnu::naked]] void powercut_device_flush(void) { POWERCUT_KEEPING_LIVE("powercut_do_device_flush"); }

POWERCUT_INSIDE void powercut_do_device_force(const void* word) {
  const CallSite site = call_site();
  active_sink.flush(active_sink.self, reinterpret_cast<uint64_t>(word), POWERCUT_FORCE, site.pc, site.frame);
}

[[gnu::naked]] void powercut_device_force(const void*) { POWERCUT_KEEPING_LIVE("powercut_do_device_force"); }

[[gnu::used]] void powercut_steps_spent(const uint64_t* live) {
  // Without a listener nobody counts, so the counter starts again from the top.
  __powercut_steps = INT64_MAX;
  active_sink.out_of_steps(active_sink.self, live);
}

[[gnu::naked]] void __powercut_out_of_steps(void) { POWERCUT_WITH_LIVE_STATE("powercut_steps_spent", "rdi"); }

[[gnu::used]] int powercut_at_pause(const uint64_t* live) {
  __powercut_scheduler.pause(__powercut_scheduler.self, live);
  return 0;
}

[[gnu::used, gnu::naked]] int powercut_pause() { POWERCUT_WITH_LIVE_STATE("powercut_at_pause", "rdi"); }

int __powercut_pause(void) {
  if (__powercut_scheduler.pause == nullptr) return 0;
  // A jump: the listener gets the caller's state.
  [[clang::musttail]] return powercut_pause();
}

void powercut_mark(const char* name) { active_sink.mark(active_sink.self, name); }

void powercut_keep_live(uint64_t* to) { powercut_live = to; }

void powercut_set_sink(const powercut_sink* sink) {
  using namespace powercut::runtime;
  // Looks the bounds of this thread's stack up now: the look-up allocates, which a hook must not do while the listener
  // has replaced the heap.
  stack_bounds();
  powercut_sink next = sink != nullptr ? *sink : kDeaf;
  next.store = or_else(next.store, kDeaf.store);
  next.load = or_else(next.load, kDeaf.load);
  next.rmw_begin = or_else(next.rmw_begin, kDeaf.rmw_begin);
  next.rmw_end = or_else(next.rmw_end, kDeaf.rmw_end);
  next.flush = or_else(next.flush, kDeaf.flush);
  next.fence = or_else(next.fence, kDeaf.fence);
  next.out_of_steps = or_else(next.out_of_steps, kDeaf.out_of_steps);
  next.mark = or_else(next.mark, kDeaf.mark);
  active_sink = next;
}

void powercut_get_sink(powercut_sink* out) { *out = active_sink; }

}  // extern "C"
