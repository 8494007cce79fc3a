// Stand-ins for the functions that make, end and await threads: of pthread, of C11, and of std::thread where they are
// not inline. The functions that sleep stand here as well. Under a scheduler (thread_hooks.h) a pthread_t is the number
// of the thread, unless the scheduler's threads are the system's.
//
// Known inaccuracies: of a new thread's attributes only the detached state is looked at. A thread that leaves by
// pthread_exit does so without its destructors. Not followed: data of a thread under a key (pthread_setspecific),
// cancelling a thread or sending it a signal.
#include <pthread.h>
#include <signal.h>
#include <threads.h>

#include <cerrno>
#include <memory>
#include <thread>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/c11_threads.h"
#include "tracer/runtime/threads/lock_step.h"

using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::cannot_schedule;
using powercut::runtime::result_of_c11;
using powercut::runtime::scheduled_thread;
using powercut::runtime::store_object;

namespace {

using Body = void* (*)(void*);

int create(uint64_t* thread, Body body, void* argument) {
  return __powercut_scheduler.create(__powercut_scheduler.self, thread, body, argument);
}

int join(uint64_t thread, void** result) {
  return __powercut_scheduler.join(__powercut_scheduler.self, thread, result);
}

int detach(uint64_t thread) { return __powercut_scheduler.detach(__powercut_scheduler.self, thread); }

[[noreturn]] void leave(void* result) {
  __powercut_scheduler.exit(__powercut_scheduler.self, result);
  __builtin_unreachable();
}

// The body of a std::thread. An exception that leaves the body ends the process, as in libstdc++.
void* run_state(void* raw) noexcept {
  const std::unique_ptr<std::thread::_State> state(static_cast<std::thread::_State*>(raw));
  state->_M_run();
  return nullptr;
}

// A std::thread consists of its number.
static_assert(sizeof(std::thread) == sizeof(pthread_t));
pthread_t* number_of(std::thread* thread) { return reinterpret_cast<pthread_t*>(thread); }

}  // namespace

extern "C" {

uint64_t powercut_scheduled(void) { return powercut::runtime::scheduled_thread(); }

int __powercut_pthread_create(pthread_t* out, const pthread_attr_t* attributes, Body body, void* argument) {
  POWERCUT_UNLESS_SCHEDULED(pthread_create(out, attributes, body, argument));
  const CallSite site = call_site();
  uint64_t thread = 0;
  if (const int error = create(&thread, body, argument); error != 0) return error;
  store_object(out, pthread_t{thread}, site);
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
  return state == PTHREAD_CREATE_DETACHED ? detach(thread) : 0;
}

int __powercut_pthread_join(pthread_t thread, void** out) {
  POWERCUT_UNLESS_SCHEDULED(pthread_join(thread, out));
  const CallSite site = call_site();
  void* result = nullptr;
  const int error = join(thread, &result);
  if (error == 0 && out != nullptr) store_object(out, result, site);
  return error;
}

int __powercut_pthread_detach(pthread_t thread) {
  POWERCUT_UNLESS_SCHEDULED(pthread_detach(thread));
  return detach(thread);
}

pthread_t __powercut_pthread_self(void) {
  POWERCUT_UNLESS_FIBER(pthread_self());
  return scheduled_thread();
}

void __powercut_pthread_exit(void* result) {
  if (scheduled_thread() == 0) pthread_exit(result);
  leave(result);
}

int __powercut_pthread_setname_np(pthread_t thread, const char* name) {
  POWERCUT_UNLESS_FIBER(pthread_setname_np(thread, name));
  return 0;
}

int __powercut_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* processors) {
  POWERCUT_UNLESS_FIBER(pthread_setaffinity_np(thread, size, processors));
  return 0;
}

int __powercut_pthread_setspecific(pthread_key_t key, const void* data) {
  POWERCUT_UNLESS_FIBER(pthread_setspecific(key, data));
  cannot_schedule("target code keeps data of a thread under a key", call_site());
  return ENOMEM;
}

int __powercut_tss_set(tss_t key, void* data) {
  POWERCUT_UNLESS_FIBER(tss_set(key, data));
  cannot_schedule("target code keeps data of a thread under a key", call_site());
  return thrd_error;
}

int __powercut_pthread_cancel(pthread_t thread) {
  if (scheduled_thread() != 0) cannot_schedule("target code cancels a thread", call_site());
  POWERCUT_UNLESS_FIBER(pthread_cancel(thread));
  return ESRCH;
}

int __powercut_pthread_kill(pthread_t thread, int signal) {
  if (scheduled_thread() != 0) cannot_schedule("target code sends a signal to a thread", call_site());
  POWERCUT_UNLESS_FIBER(pthread_kill(thread, signal));
  return ESRCH;
}

// ---- C11 ---------------------------------------------------------------------------------------------

int __powercut_thrd_create(thrd_t* out, thrd_start_t body, void* argument) {
  POWERCUT_UNLESS_SCHEDULED(thrd_create(out, body, argument));
  const CallSite site = call_site();
  uint64_t thread = 0;
  // The int that `body` returns is the lower half of the register in which a pointer is returned: thrd_join takes it
  // there.
  const int error = create(&thread, reinterpret_cast<Body>(reinterpret_cast<void*>(body)), argument);
  if (error == 0) store_object(out, thrd_t{thread}, site);
  return result_of_c11(error);
}

int __powercut_thrd_join(thrd_t thread, int* out) {
  POWERCUT_UNLESS_SCHEDULED(thrd_join(thread, out));
  const CallSite site = call_site();
  void* result = nullptr;
  const int error = join(thread, &result);
  if (error == 0 && out != nullptr) store_object(out, static_cast<int>(reinterpret_cast<intptr_t>(result)), site);
  return result_of_c11(error);
}

int __powercut_thrd_detach(thrd_t thread) {
  POWERCUT_UNLESS_SCHEDULED(thrd_detach(thread));
  return result_of_c11(detach(thread));
}

thrd_t __powercut_thrd_current(void) {
  POWERCUT_UNLESS_FIBER(thrd_current());
  return scheduled_thread();
}

void __powercut_thrd_exit(int result) {
  if (scheduled_thread() == 0) thrd_exit(result);
  leave(reinterpret_cast<void*>(static_cast<intptr_t>(result)));
}

// ---- std::thread -------------------------------------------------------------------------------------

#define POWERCUT_START "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"
#define POWERCUT_JOIN "_ZNSt6thread4joinEv"
#define POWERCUT_DETACH "_ZNSt6thread6detachEv"

// The state is passed by value, which for a class with a destructor is by address.
using State = std::unique_ptr<std::thread::_State>;
void libstdcpp_start(std::thread* thread, State* state, void (*depend)()) asm(POWERCUT_START);
void libstdcpp_join(std::thread* thread) asm(POWERCUT_JOIN);
void libstdcpp_detach(std::thread* thread) asm(POWERCUT_DETACH);

void powercut_std_start(std::thread* thread, State* state, void (*depend)()) asm("__powercut_" POWERCUT_START);
void powercut_std_start(std::thread* thread, State* state, void (*depend)()) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_start(thread, state, depend));
  const CallSite site = call_site();
  uint64_t number = 0;
  // The pointer lies on the caller's stack: no other thread knows of it.
  std::thread::_State* const raw = state->get();
  if (const int error = create(&number, run_state, raw); error != 0) std::__throw_system_error(error);
  static_cast<void>(state->release());
  store_object(number_of(thread), pthread_t{number}, site);
}

void powercut_std_join(std::thread* thread) asm("__powercut_" POWERCUT_JOIN);
void powercut_std_join(std::thread* thread) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_join(thread));
  const CallSite site = call_site();
  const int error = thread->joinable() ? join(*number_of(thread), nullptr) : EINVAL;
  if (error != 0) std::__throw_system_error(error);
  store_object(number_of(thread), pthread_t{0}, site);
}

void powercut_std_detach(std::thread* thread) asm("__powercut_" POWERCUT_DETACH);
void powercut_std_detach(std::thread* thread) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_detach(thread));
  const CallSite site = call_site();
  const int error = thread->joinable() ? detach(*number_of(thread)) : EINVAL;
  if (error != 0) std::__throw_system_error(error);
  store_object(number_of(thread), pthread_t{0}, site);
}

// ---- sleeping ----------------------------------------------------------------------------------------

// Jumps to the C library's function, or to __powercut_pause, which is given the caller's state.
#define POWERCUT_PAUSE_OR(function)                       \
  asm("mov __powercut_scheduler@GOTPCREL(%rip), %rax\n\t" \
      "cmpq $0, 8(%rax)\n\t"                              \
      "jne __powercut_pause@PLT\n\t"                      \
      "jmp " function "@PLT")
static_assert(offsetof(powercut_scheduler, pause) == 8);

[[gnu::naked]] int __powercut_sched_yield(void) { POWERCUT_PAUSE_OR("sched_yield"); }
[[gnu::naked]] void __powercut_thrd_yield(void) { POWERCUT_PAUSE_OR("thrd_yield"); }
[[gnu::naked]] int __powercut_nanosleep(const timespec*, timespec*) { POWERCUT_PAUSE_OR("nanosleep"); }
[[gnu::naked]] int __powercut_clock_nanosleep(clockid_t, int, const timespec*, timespec*) {
  POWERCUT_PAUSE_OR("clock_nanosleep");
}
[[gnu::naked]] int __powercut_thrd_sleep(const timespec*, timespec*) { POWERCUT_PAUSE_OR("thrd_sleep"); }
[[gnu::naked]] int __powercut_usleep(unsigned) { POWERCUT_PAUSE_OR("usleep"); }
[[gnu::naked]] unsigned __powercut_sleep(unsigned) { POWERCUT_PAUSE_OR("sleep"); }

}  // extern "C"
