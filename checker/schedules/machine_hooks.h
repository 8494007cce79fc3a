// How the target's code reaches a machine: the calls of its hooks, its heap, its signals and its calls of threads, each
// as one member of TargetMachine.
#ifndef POWERCUT_CHECKER_SCHEDULES_MACHINE_HOOKS_H_
#define POWERCUT_CHECKER_SCHEDULES_MACHINE_HOOKS_H_

#include <string>

#include "checker/schedules/target_machine.h"
#include "checker/schedules/watched_code.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/stack_below.h"

namespace powercut {

struct TargetMachine::Hooks {
  static TargetMachine& of(void* self) { return *static_cast<TargetMachine*>(self); }
  static powercut_scheduler scheduler(TargetMachine* self) {
    return {.self = self,
            .pause = [](void* s, const uint64_t* live) { of(s).on_turn(live, true); },
            .access = [](void* s, const void* at, uint64_t n, const void*,
                         const void*) { of(s).on_lock(reinterpret_cast<uint64_t>(at), n); },
            .wait = [](void* s, const void* at, uint64_t n, const void*,
                       const void*) { of(s).on_lock_taken(reinterpret_cast<uint64_t>(at), n); },
            .create = [](void* s, uint64_t*, void* (*)(void*), void*) -> int {
              of(s).give_up("it starts a thread of its own");
            },
            .join = [](void* s, uint64_t, void**) -> int { of(s).give_up("it waits for the end of a thread"); },
            .detach = [](void* s, uint64_t) -> int { of(s).give_up("it detaches a thread"); },
            .exit = [](void* s, void*) { of(s).give_up("it ends its thread"); },
            .current = [](void* s) -> uint64_t {
              return of(s).is_engine_thread() && of(s).in_target() ? of(s).current_ + 1 : 0;
            },
            .of_system = 0,
            .time = nullptr};
  }

  static void changing(void* self, uint64_t address, uint64_t size) {
    if (of(self).in_target()) of(self).keep(address, size);
  }
  static void freed(void* self, uint64_t address, uint64_t size, const void*, const void*) {
    if (of(self).in_target()) of(self).on_free(address, size);
  }
  static void freed_again(void* self, uint64_t, uint64_t, const void*, const void*) {
    if (!of(self).in_target()) return;
    const QuietHeap quiet;
    of(self).fail(Trouble::kDoubleFree, kDoubleFree);
  }
  static bool running(uint64_t) { return current_machine != nullptr && current_machine->in_target(); }
  static void cannot_follow(const std::string& what, const void*, const void*) { current_machine->give_up(what); }
  static void blocked(const void*, const void*) { current_machine->give_up(kBlocked); }

  static void listen(TargetMachine* self) {
    self->sink_ = sink_of(self);
    self->sink_.out_of_steps = [](void* s, const uint64_t* live) { of(s).on_turn(live, false); };
    ArenaEvents heap = {};
    heap.self = self;
    heap.changing = changing;
    heap.freed = freed;
    heap.freed_again = freed_again;
    watch_code({.sink = &self->sink_,
                .heap = heap,
                .window_begin = kEndOfStacks,
                .pool_size = self->work_.pool_size,
                .traps = {.running = running, .cannot_follow = cannot_follow, .blocked = blocked},
                .fault = on_signal,
                .scheduler = scheduler(self)});
  }
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_MACHINE_HOOKS_H_
