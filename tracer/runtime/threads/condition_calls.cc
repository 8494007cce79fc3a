// Stand-ins for condition variables: pthread's, C11's (which glibc makes of pthread's), and the functions of
// std::condition_variable that are not inline.
//
// Under a scheduler (thread_hooks.h) a condition variable is one word of its bytes, which in glibc's is zero while
// nobody waits. A signal wakes one of the threads that waited when the signal came, and the scheduler chooses the
// thread. The signal leaves a *token*, and the first of these threads that runs takes the token. The word holds how
// many tokens there are. For each waiting thread it also holds how many tokens came before the thread did: those are
// not for the thread. A token always finds a taker, since there are never more tokens than waiting threads. A thread
// that may take several tokens takes the oldest: every thread that may take the oldest may take the later ones as well.
//
// Known inaccuracy: a wait with a time limit is one turn of a waiting loop. Whether the time was up before the signal
// is the scheduler's choice, so the limit itself is never looked at. Nobody wakes without a signal.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <condition_variable>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/c11_threads.h"
#include "tracer/runtime/threads/lock_step.h"

using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::lock_mutex;
using powercut::runtime::LockStep;
using powercut::runtime::pthread_of;
using powercut::runtime::result_of_c11;
using powercut::runtime::scheduled_thread;
using powercut::runtime::store_object;
using powercut::runtime::unlock_mutex;

namespace {

constexpr uint64_t kWordAt = 16;  // bytes from the start of the object

// The waiting threads: four bits for each thread, and the number of tokens in the topmost four.
class Waiters {
 public:
  explicit Waiters(uint64_t word) : word_(word) {}
  uint64_t word() const { return word_; }

  void add(uint64_t thread) { set(thread, tokens() + 1); }
  bool has_token(uint64_t thread) const { return before(thread) < tokens(); }
  // The thread takes its token, if it has one, and waits no more.
  void remove(uint64_t thread) {
    if (has_token(thread)) {
      for (uint64_t other = 1; other <= POWERCUT_MOST_THREADS; ++other) {
        if (waits(other) && before(other) > before(thread)) set(other, field(other) - 1);
      }
      set_tokens(tokens() - 1);
    }
    set(thread, 0);
  }
  void signal() {
    if (tokens() < count()) set_tokens(tokens() + 1);
  }
  void broadcast() { set_tokens(count()); }

 private:
  static uint64_t shift_of(uint64_t thread) { return 4 * (thread - 1); }
  static constexpr uint64_t kTokens = 4 * POWERCUT_MOST_THREADS;

  // The thread's four bits; 0: the thread does not wait.
  uint64_t field(uint64_t thread) const { return word_ >> shift_of(thread) & 15; }
  bool waits(uint64_t thread) const { return field(thread) != 0; }
  uint64_t before(uint64_t thread) const { return field(thread) - 1; }
  uint64_t tokens() const { return word_ >> kTokens; }
  uint64_t count() const {
    uint64_t out = 0;
    for (uint64_t thread = 1; thread <= POWERCUT_MOST_THREADS; ++thread) out += waits(thread);
    return out;
  }
  void set(uint64_t thread, uint64_t value) {
    word_ = (word_ & ~(uint64_t{15} << shift_of(thread))) | value << shift_of(thread);
  }
  void set_tokens(uint64_t count) { word_ = (word_ & ~(uint64_t{15} << kTokens)) | count << kTokens; }

  uint64_t word_;
};

uint64_t* word_of(void* condition) { return reinterpret_cast<uint64_t*>(static_cast<char*>(condition) + kWordAt); }
static_assert(sizeof(pthread_cond_t) >= kWordAt + sizeof(uint64_t));
static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(std::condition_variable) == sizeof(pthread_cond_t));

// Makes a step that changes the waiting threads.
template <typename Change>
void change(uint64_t* word, const CallSite& site, Change change) {
  const LockStep step(word, sizeof *word, site);
  Waiters waiters(LockStep::read(word));
  change(&waiters);
  if (waiters.word() != LockStep::read(word)) step.store(word, waiters.word());
}

enum class Limit { kNone, kTime };

int wait(void* condition, pthread_mutex_t* mutex, Limit limit, const CallSite& site) {
  const uint64_t me = scheduled_thread();
  uint64_t* const word = word_of(condition);
  change(word, site, [me](Waiters* waiters) { waiters->add(me); });
  if (const int error = unlock_mutex(mutex, site); error != 0) {
    change(word, site, [me](Waiters* waiters) { waiters->remove(me); });
    return error;
  }
  if (limit == Limit::kTime) __powercut_pause();
  int result = 0;
  const LockStep step(word, sizeof *word, site);
  for (;; step.wait()) {
    Waiters waiters(LockStep::read(word));
    if (!waiters.has_token(me) && limit == Limit::kNone) continue;
    if (!waiters.has_token(me)) result = ETIMEDOUT;
    waiters.remove(me);
    step.store(word, waiters.word());
    break;
  }
  const int error = lock_mutex(mutex, site);
  return error != 0 ? error : result;
}

int signal_one(void* condition, const CallSite& site) {
  change(word_of(condition), site, [](Waiters* waiters) { waiters->signal(); });
  return 0;
}

int signal_all(void* condition, const CallSite& site) {
  change(word_of(condition), site, [](Waiters* waiters) { waiters->broadcast(); });
  return 0;
}

}  // namespace

extern "C" {

int __powercut_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_wait(condition, mutex));
  return wait(condition, mutex, Limit::kNone, call_site());
}

int __powercut_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_timedwait(condition, mutex, until));
  return wait(condition, mutex, Limit::kTime, call_site());
}

int __powercut_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_clockwait(condition, mutex, clock, until));
  return wait(condition, mutex, Limit::kTime, call_site());
}

int __powercut_pthread_cond_signal(pthread_cond_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_signal(condition));
  return signal_one(condition, call_site());
}

int __powercut_pthread_cond_broadcast(pthread_cond_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_broadcast(condition));
  return signal_all(condition, call_site());
}

int __powercut_pthread_cond_init(pthread_cond_t* condition, const pthread_condattr_t* attributes) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_init(condition, attributes));
  pthread_cond_t made;
  const int result = pthread_cond_init(&made, attributes);
  if (result == 0) store_object(condition, made, call_site());
  return result;
}

int __powercut_pthread_cond_destroy(pthread_cond_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(pthread_cond_destroy(condition));
  return 0;
}

int __powercut_cnd_wait(cnd_t* condition, mtx_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(cnd_wait(condition, mutex));
  return result_of_c11(wait(condition, pthread_of(mutex), Limit::kNone, call_site()));
}

int __powercut_cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(cnd_timedwait(condition, mutex, until));
  return result_of_c11(wait(condition, pthread_of(mutex), Limit::kTime, call_site()));
}

int __powercut_cnd_signal(cnd_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(cnd_signal(condition));
  return signal_one(condition, call_site());
}

int __powercut_cnd_broadcast(cnd_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(cnd_broadcast(condition));
  return signal_all(condition, call_site());
}

int __powercut_cnd_init(cnd_t* condition) {
  POWERCUT_UNLESS_SCHEDULED(cnd_init(condition));
  store_object(condition, cnd_t{}, call_site());
  return thrd_success;
}

void __powercut_cnd_destroy(cnd_t* condition) { POWERCUT_UNLESS_SCHEDULED(cnd_destroy(condition)); }

// ---- std::condition_variable -------------------------------------------------------------------------

using StdCondition = std::condition_variable;
using StdLock = std::unique_lock<std::mutex>;

#define POWERCUT_WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
#define POWERCUT_NOTIFY_ONE "_ZNSt18condition_variable10notify_oneEv"
#define POWERCUT_NOTIFY_ALL "_ZNSt18condition_variable10notify_allEv"
#define POWERCUT_MAKE "_ZNSt18condition_variableC1Ev"

void libstdcpp_wait(StdCondition* condition, StdLock* lock) asm(POWERCUT_WAIT);
void libstdcpp_notify_one(StdCondition* condition) asm(POWERCUT_NOTIFY_ONE);
void libstdcpp_notify_all(StdCondition* condition) asm(POWERCUT_NOTIFY_ALL);
void libstdcpp_make(StdCondition* condition) asm(POWERCUT_MAKE);

void powercut_std_wait(StdCondition* condition, StdLock* lock) asm("__powercut_" POWERCUT_WAIT);
void powercut_std_wait(StdCondition* condition, StdLock* lock) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_wait(condition, lock));
  wait(condition, lock->mutex()->native_handle(), Limit::kNone, call_site());
}

void powercut_std_notify_one(StdCondition* condition) asm("__powercut_" POWERCUT_NOTIFY_ONE);
void powercut_std_notify_one(StdCondition* condition) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_notify_one(condition));
  signal_one(condition, call_site());
}

void powercut_std_notify_all(StdCondition* condition) asm("__powercut_" POWERCUT_NOTIFY_ALL);
void powercut_std_notify_all(StdCondition* condition) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_notify_all(condition));
  signal_all(condition, call_site());
}

void powercut_std_make(StdCondition* condition) asm("__powercut_" POWERCUT_MAKE);
void powercut_std_make(StdCondition* condition) {
  POWERCUT_UNLESS_SCHEDULED(libstdcpp_make(condition));
  const pthread_cond_t made = PTHREAD_COND_INITIALIZER;
  store_object(reinterpret_cast<pthread_cond_t*>(condition), made, call_site());
}

}  // extern "C"
