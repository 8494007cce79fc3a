// Stand-ins for the functions that tell the time. If a scheduler has a clock of its own (thread_hooks.h), all clocks
// show its time. A program's use of the time is then a function of its schedule.
//
// Not covered: clock(), times() and getrusage(), and calls of code without instrumentation.
#include <sys/time.h>
#include <time.h>

#include <chrono>

#include "tracer/runtime/threads/lock_step.h"

using powercut::runtime::scheduled_thread;

namespace {

// The time at which the clock began: 2026-01-01.
constexpr uint64_t kBegan = 1'767'225'600;
constexpr uint64_t kSecond = 1'000'000'000;

bool has_clock() { return scheduled_thread() != 0 && __powercut_scheduler.time != nullptr; }

uint64_t nanoseconds() { return kBegan * kSecond + __powercut_scheduler.time(__powercut_scheduler.self); }

}  // namespace

extern "C" {

int __powercut_clock_gettime(clockid_t clock, timespec* out) {
  if (!has_clock()) [[clang::musttail]]
    return clock_gettime(clock, out);
  const uint64_t now = nanoseconds();
  *out = {.tv_sec = static_cast<time_t>(now / kSecond), .tv_nsec = static_cast<long>(now % kSecond)};
  return 0;
}

int __powercut_gettimeofday(timeval* out, void* zone) {
  if (!has_clock()) [[clang::musttail]]
    return gettimeofday(out, zone);
  const uint64_t now = nanoseconds();
  *out = {.tv_sec = static_cast<time_t>(now / kSecond), .tv_usec = static_cast<suseconds_t>(now % kSecond / 1000)};
  return 0;
}

time_t __powercut_time(time_t* out) {
  if (!has_clock()) [[clang::musttail]]
    return time(out);
  const auto now = static_cast<time_t>(nanoseconds() / kSecond);
  if (out != nullptr) *out = now;
  return now;
}

int __powercut_timespec_get(timespec* out, int base) {
  if (!has_clock()) [[clang::musttail]]
    return timespec_get(out, base);
  return __powercut_clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

// The clocks of std::chrono return a number of nanoseconds.
#define POWERCUT_STEADY_NOW "_ZNSt6chrono3_V212steady_clock3nowEv"
#define POWERCUT_SYSTEM_NOW "_ZNSt6chrono3_V212system_clock3nowEv"
int64_t libstdcpp_steady_now() asm(POWERCUT_STEADY_NOW);
int64_t libstdcpp_system_now() asm(POWERCUT_SYSTEM_NOW);

int64_t powercut_steady_now() asm("__powercut_" POWERCUT_STEADY_NOW);
int64_t powercut_steady_now() {
  if (!has_clock()) [[clang::musttail]]
    return libstdcpp_steady_now();
  return static_cast<int64_t>(nanoseconds());
}

int64_t powercut_system_now() asm("__powercut_" POWERCUT_SYSTEM_NOW);
int64_t powercut_system_now() {
  if (!has_clock()) [[clang::musttail]]
    return libstdcpp_system_now();
  return static_cast<int64_t>(nanoseconds());
}

}  // extern "C"
