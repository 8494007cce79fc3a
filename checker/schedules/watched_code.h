// The parts of the process that are ours while threads of the target run. Hooks have a sink, and windows in which
// accesses are announced. The heap has events, the pool traps, faults signals, and calls of threads stand-ins. Two
// runners listen through the same members: a search that leads schedules, and a recording on threads of the system.
#ifndef POWERCUT_CHECKER_SCHEDULES_WATCHED_CODE_H_
#define POWERCUT_CHECKER_SCHEDULES_WATCHED_CODE_H_

#include <csignal>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/arena.h"
#include "tracer/world/fault_signals.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_traps.h"
#include "tracer/world/virtual_world.h"

namespace powercut {

// A sink whose calls go to the members of `self` with these names.
template <typename Listener>
powercut_sink sink_of(Listener* self) {
  powercut_sink out{};
  out.self = self;
  out.load = [](void* s, uint64_t a, uint64_t n) { static_cast<Listener*>(s)->on_load(a, n); };
  out.store = [](void* s, uint64_t a, uint64_t n, uint32_t f, const void* v, const void* pc, const void* fp) {
    static_cast<Listener*>(s)->on_store(a, n, f, v, pc, fp);
  };
  out.rmw_begin = [](void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
    static_cast<Listener*>(s)->on_rmw_begin(a, n, pc, fp);
  };
  out.rmw_end = [](void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
    static_cast<Listener*>(s)->on_rmw_end(a, n, stored, pc, fp);
  };
  out.flush = [](void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
    static_cast<Listener*>(s)->on_flush(a, kind, pc, fp);
  };
  out.fence = [](void* s, uint32_t kind, const void* pc, const void* fp) {
    static_cast<Listener*>(s)->on_fence(kind, pc, fp);
  };
  out.mark = [](void* s, const char* name) { static_cast<Listener*>(s)->on_mark(name); };
  return out;
}

struct Watch {
  const powercut_sink* sink = nullptr;  // outlives the watch
  ArenaEvents heap;
  uint64_t window_begin = 0;  // accesses from here on are announced
  uint64_t pool_size = 0;
  TrapClient traps;
  void (*fault)(int signal, siginfo_t* info, void* context) = nullptr;
  powercut_scheduler scheduler;
};
inline void watch_code(const Watch& watch) {
  powercut_set_sink(watch.sink);
  arena_events = watch.heap;
  arena_events.keep_freed = true;
  __powercut_store_window = __powercut_load_window = {watch.window_begin, ~uint64_t{0} - watch.window_begin};
  __powercut_real_flush = 0;
  unwatch_traps();
  handle_faults(watch.fault);
  watch_traps(watch.pool_size, watch.traps);
  virtual_world.recording = true;
  __powercut_scheduler = watch.scheduler;
}
// Ends the watch, except for the sink and the windows, which the caller sets.
inline void unwatch_code() {
  __powercut_scheduler = {};
  virtual_world.recording = false;
  arena_events = {};
  unwatch_traps();
}

// How a finding speaks of a signal that ended an operation.
inline std::string died_of(int signal) {
  const char* name = sigabbrev_np(signal);
  return absl::StrCat("it died of SIG", name == nullptr ? "?" : name);
}

inline constexpr char kDoubleFree[] = "it frees a block that was freed before";
inline constexpr char kUseAfterFree[] = "it uses a block that was freed";
inline constexpr char kBlocked[] = "it waits for a lock through code that is not instrumented";

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_WATCHED_CODE_H_
