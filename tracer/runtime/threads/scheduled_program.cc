#include "tracer/runtime/threads/scheduled_program.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/system_call.h"
#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/hooks/stack_bounds.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/runtime/threads/schedule_file.h"
#include "tracer/runtime/threads/shared_places.h"
#include "tracer/runtime/threads/token.h"
#include "tracer/runtime/threads/waiting_loops.h"
#include "tracer/runtime/watch_hooks.h"

namespace powercut::runtime {
namespace {

static_assert(kMostThreads == POWERCUT_MOST_THREADS);
// Limits of a thread's loads while memory stays as it is; kLooks counts all its visible loads. Beyond kLooks,
// kQuietVisible or kQuiet the thread's states are compared. After every kTooQuiet loads (kTooQuietVisible if visible)
// the thread lets others go on, whatever it does.
constexpr uint64_t kLooks = 8, kQuietVisible = 2, kQuiet = 4096, kTooQuiet = 100'000, kTooQuietVisible = 1000;
constexpr int64_t kSteps = 1'000'000;
constexpr uint64_t kKept = 5 * sizeof(uint64_t);  // registers that a function keeps below its frame
constexpr uint64_t kDeepest = 1 << 20;            // bytes of stack that are looked at

// The state that a thread's next instructions depend on besides memory: the registers that a call keeps, and its stack.
struct Live {
  const uint64_t* registers = nullptr;
  uint64_t stack = 0;  // 0: not known
};

class Program : Token {
 public:
  Program(ScheduleFile* file, const ScheduleRecorder& recorder) : Token(file, recorder), places_(file) {
    pthread_key_create(&key_, [](void* program) { static_cast<Program*>(program)->leaves(); });
    threads_[1].handle = pthread_self();
    threads_[1].kernel = system_call(SYS_gettid);
    mine = 1;
    pthread_setspecific(key_, this);
    file_->threads = 1;
    listen();
  }

  void set_pools(const powercut_window& pools) {
    places_.set_pools(pools);
    set_windows();
  }

  void point(const CallSite& site) {
    if (!comes()) return;
    const Busy now;
    step(site);
  }
  // An operation begins. In an order of operations it begins once it is its turn.
  void operation(const CallSite& site) {
    if (!comes()) return;
    const Busy now;
    acts();
    step(site);
    if (file_->tail != Tail::kOrder || alone()) return;
    if (!has_turn(mine)) wait(State::kTurn);
    operates_ = mine;
  }
  void operation_ended() {
    if (mine == 0 || mine != operates_) return;
    operates_ = 0;
    ++order_;
  }
  void ends(const CallSite& site) {
    if (mine == 0 || busy) return;
    point(site);
    const Busy now;
    look_for_foreign_threads();
    if (has_callbacks())
      doubt("it is instrumented by -fsanitize=thread, which does not say where threads wait or load");
    file_->end = ScheduleEnd::kDone;
  }

 private:
  // ---- what is shared ----------------------------------------------------------------------------------

  bool in_pool(uint64_t address) const { return places_.in_pool(address); }
  bool is_visible(uint64_t address, uint64_t size, bool changes) const {
    return places_.is_visible(address, size, changes);
  }
  // Notes that the thread uses these bytes now.
  void use(uint64_t address, uint64_t size, bool changes) {
    if (!places_.use(mine, address, size, changes)) stop(ScheduleEnd::kMany);
  }
  void changed(uint64_t address, uint64_t size) {
    idle_ = 0;
    for (uint32_t number = 1; number <= count_; ++number) {
      Thread& thread = threads_[number];
      const bool woken =
          thread.state == State::kBlocked && thread.wait_begin < address + size && address < thread.wait_end;
      if (woken) thread.state = State::kReady;
    }
  }
  // The thread does something that others can tell, so its loop does not only wait.
  void acts() { me().retries.over(); }

  // ---- loops that wait ---------------------------------------------------------------------------------

  // Returns whether the thread is where it was a turn ago, in the same state, and no thread has changed anything since.
  bool comes_again(const Live& live) {
    if (live.stack == 0) return false;
    const StackBounds& bounds = stack_bounds();
    // The C library's descriptor of a thread lies at the top of the thread's stack. The kernel keeps the number of the
    // processor there (rseq), which changes whenever the thread moves to another one.
    const auto descriptor = static_cast<uint64_t>(me().handle);
    const uint64_t high = descriptor >= bounds.low && descriptor < bounds.high ? descriptor : bounds.high;
    if (live.stack < bounds.low || live.stack >= high || high - live.stack > kDeepest) return false;
    uint64_t hash = mixed(memory_.value(), live.registers, 6 * sizeof(uint64_t));
    hash = mixed(mixed(hash, live.stack), reinterpret_cast<const void*>(live.stack), high - live.stack);
    Thread& self = me();
    const size_t known = std::min(self.turns, kTurns);
    if (std::find(self.turn.begin(), self.turn.begin() + known, hash) != self.turn.begin() + known) return true;
    self.turn[self.turns++ % kTurns] = hash;
    return false;
  }
  void look_for_changes() {
    Thread& self = me();
    if (self.seen == memory_.value()) return;
    self.seen = memory_.value();
    self.quiet = 0;
  }
  void look_for_loop(bool visible, const Live& live, const CallSite& site, uint64_t address) {
    look_for_changes();
    Thread& self = me();
    const uint64_t quiet = ++self.quiet;
    self.looks += visible ? 1 : 0;
    if ((quiet > (visible ? kQuietVisible : kQuiet) || (visible && self.looks > kLooks)) && comes_again(live)) {
      if (idle_ == 0) recorder_.left("waits", site);
      wait(State::kLoops);
    } else if ((visible && self.retries.again(site.pc, address)) ||
               quiet % (visible ? kTooQuietVisible : kTooQuiet) == 0) {
      yield();
    }
  }
  // As comes_again(), for the place where a function of the runtime was called. All that the function depends on lies
  // in these registers and on the stack from here on. The stack includes the registers that functions in between have
  // kept.
  [[gnu::noinline]] bool is_where_it_was() {
    __builtin_unwind_init();
    uint64_t registers[6] = {};
    return comes_again({registers, reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - kKept});
  }
  // The thread reads the clock. Time stands still for a thread that only looks at the clock, until no other thread can
  // go on.
  uint64_t on_time() {
    if (!comes()) return time_;
    const Busy now;
    const CallSite site = caller();
    if (alone() || !me().retries.again(site.pc, 0)) return time_ += kTick;
    look_for_changes();
    if (is_where_it_was()) {
      if (idle_ == 0) recorder_.left("waits", site);
      wait(State::kLoops);
    } else {
      yield();
    }
    return time_;
  }

  // ---- hooks -------------------------------------------------------------------------------------------

  // Returns whether one of the program's scheduled threads has called the hook.
  bool comes() {
    if (busy || recorder_.records()) return false;
    ++file_->beats;
    if (mine == 0) doubt(kForeign);
    if (mine != 0 && mine != running_) doubt("a signal handler runs in a thread while another one has its turn");
    return mine != 0 && mine == running_;
  }
  static constexpr const char* kForeign =
      "a thread that code without hooks has started works beside those that are scheduled";
  // Notes if the process has a thread that is none of the scheduled threads.
  void look_for_foreign_threads() {
    // The process's first thread stays there after its end, and the thread that ends the process may have ended before.
    const auto own = std::count_if(&threads_[1], &threads_[count_ + 1], [this](const Thread& thread) {
      return thread.state != State::kEnded || &thread == &threads_[1] || &thread == &me();
    });
    struct stat tasks{};
    // A folder has a link for each folder in it, and two links of its own.
    if (stat("/proc/self/task", &tasks) == 0 && static_cast<int64_t>(tasks.st_nlink) - 2 > own) doubt(kForeign);
  }
  Live take_live() {
    const Live out{live_, live_[6]};
    live_[6] = 0;  // the stack of this hook; the mem*/str* functions leave the word alone
    return out;
  }
  void tell(uint64_t kind, uint64_t a, uint64_t b, const void* value = nullptr, uint64_t size = 0) {
    so_far_ = mixed(mixed(mixed(so_far_, kind << 8 | mine), a), b);
    if (value != nullptr) so_far_ = mixed(so_far_, value, size);
    file_->so_far = so_far_;
  }

  void on_load(uint64_t address, uint64_t size) {
    if (!comes()) return;
    const Busy now;
    const Live live = take_live();
    if (size == 0 || alone()) return;
    const CallSite site = live.stack == 0 ? CallSite{nullptr, nullptr}
                                          : CallSite{*reinterpret_cast<void* const*>(live.stack),
                                                     reinterpret_cast<const void*>(live.registers[5])};
    const bool visible = is_visible(address, size, false);
    look_for_loop(visible, live, site, address);
    if (visible) step(site);
    use(address, size, false);
    tell(1, address, size);
  }
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, const CallSite& site) {
    if (!comes()) return recorder_.sink.store(recorder_.sink.self, address, size, flags, value, site.pc, site.frame);
    const Busy now;
    take_live();
    if (size == 0) return;
    if (!alone()) {
      if ((flags & POWERCUT_STORE_IN_STEP) != 0) {
        // A thread that changes an object of a lock has come to it by a visible event.
        acts();
        places_.change_lock(mine, address, size);
      } else {
        const bool visible = is_visible(address, size, true) || (file_->every_store != 0 && in_pool(address));
        if (visible || in_pool(address)) acts();
        if ((flags & POWERCUT_STORE_CONTINUES) == 0) {
          me().store = address / 8;
          if (visible) step(site);
        } else if (visible) {
          // The pieces of a store are one access, which is visible at its first byte.
          if (!places_.find(me().store)) stop(ScheduleEnd::kMany);
        }
        use(address, size, true);
      }
    }
    tell(2, address, size, value, size);
    if ((flags & POWERCUT_STORE_NT) != 0 && in_pool(address)) me().flushes = true;
    recorder_.sink.store(recorder_.sink.self, address, size, flags, value, site.pc, site.frame);
    // Bytes that the kernel has read in are in memory already.
    const auto* there = reinterpret_cast<const void*>(address);
    if (there != value && memcmp(there, value, size) == 0) return;
    if (there == value) {
      memory_.change();
    } else {
      memory_.change(address, there, value, size);
    }
    changed(address, size);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, const CallSite& site) {
    if (!comes()) return recorder_.sink.rmw_begin(recorder_.sink.self, address, size, site.pc, site.frame);
    const Busy now;
    const Live live = take_live();
    if (!alone()) {
      const bool visible = is_visible(address, size, true);
      look_for_loop(visible, live, site, address);
      if (visible || me().flushes || (file_->every_store != 0 && in_pool(address))) step(site);
      use(address, size, true);
    }
    me().flushes = false;
    memcpy(before_.data(), reinterpret_cast<const void*>(address), std::min<uint64_t>(size, before_.size()));
    recorder_.sink.rmw_begin(recorder_.sink.self, address, size, site.pc, site.frame);
  }
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, const CallSite& site) {
    // The recording has begun the instruction; the instruction is the program's all the same.
    const bool scheduled = !busy && mine != 0 && mine == running_;
    const Busy now;
    if (scheduled) {
      const auto* there = reinterpret_cast<const void*>(address);
      const uint64_t looked_at = std::min<uint64_t>(size, before_.size());
      tell(3, address, stored, there, looked_at);
      if (stored != 0 && memcmp(there, before_.data(), looked_at) != 0) {
        memory_.change(address, before_.data(), there, looked_at);
        if (!alone() && (in_pool(address) || is_visible(address, size, true))) acts();
        changed(address, size);
      }
    }
    recorder_.sink.rmw_end(recorder_.sink.self, address, size, stored, site.pc, site.frame);
  }
  void on_flush(uint64_t address, uint32_t kind, const CallSite& site) {
    if (!comes()) return recorder_.sink.flush(recorder_.sink.self, address, kind, site.pc, site.frame);
    const Busy now;
    take_live();
    if (in_pool(address)) {
      acts();
      const bool drains = kind == POWERCUT_CLFLUSH;
      const uint64_t line = kLinePlace | address / 64;
      if (!alone()) {
        if (places_.is_visible(line) || drains) step(site);
        if (!places_.use(mine, line, false)) stop(ScheduleEnd::kMany);
      }
      if (!drains) me().flushes = true;
    }
    tell(4, address, kind);
    recorder_.sink.flush(recorder_.sink.self, address, kind, site.pc, site.frame);
  }
  void on_fence(uint32_t kind, const CallSite& site) {
    if (!comes()) return recorder_.sink.fence(recorder_.sink.self, kind, site.pc, site.frame);
    const Busy now;
    take_live();
    if (me().flushes) step(site);
    me().flushes = false;
    tell(5, kind, 0);
    recorder_.sink.fence(recorder_.sink.self, kind, site.pc, site.frame);
  }
  void on_pause(const uint64_t* live) {
    if (!comes()) return;
    const Busy now;
    if (alone()) return;
    look_for_changes();
    const auto stack = reinterpret_cast<uint64_t>(live + 6);
    if (comes_again({live, stack})) {
      const CallSite site{reinterpret_cast<const void*>(live[6]), reinterpret_cast<const void*>(live[5])};
      if (idle_ == 0) recorder_.left("waits", site);
      wait(State::kLoops);
    } else {
      yield();
    }
  }
  void on_wait(const void* object, uint64_t size, const CallSite& site) {
    const Busy now;
    me().wait_begin = reinterpret_cast<uint64_t>(object);
    me().wait_end = me().wait_begin + size;
    recorder_.left("waits", site);
    wait(State::kBlocked);
    places_.look_at_lock(mine, reinterpret_cast<uint64_t>(object), size);
  }
  void on_access(const void* object, uint64_t size, const CallSite& site) {
    if (!comes()) return;
    const Busy now;
    if (!alone()) {
      look_for_changes();
      if (is_where_it_was()) {
        if (idle_ == 0) recorder_.left("waits", site);
        wait(State::kLoops);
      } else if (me().retries.again(site.pc, reinterpret_cast<uint64_t>(object))) {
        yield();
      }
    }
    step(site);
    places_.look_at_lock(mine, reinterpret_cast<uint64_t>(object), size);
  }

  // ---- threads -------------------------------------------------------------------------------------------

  int on_create(uint64_t* handle, void* (*body)(void*), void* argument) {
    const Busy now;
    if (count_ == kMostThreads) {
      doubt("it starts more than 15 threads");
      return EAGAIN;
    }
    look_for_foreign_threads();
    const uint32_t number = count_ + 1;
    Thread& thread = threads_[number];
    thread.body = body;
    thread.argument = argument;
    if (const int error = pthread_create(&thread.handle, nullptr, enter, this); error != 0) return error;
    while (thread.arrived.load(std::memory_order_acquire) == 0) {
      system_call(SYS_futex, &thread.arrived, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    }
    places_.created(mine, number);
    count_ = number;
    file_->threads = number;
    set_windows();
    recorder_.thread_starts(number);
    *handle = thread.handle;
    return 0;
  }
  static void* enter(void* program);
  void run(uint32_t number) {
    Thread& thread = threads_[number];
    thread.kernel = system_call(SYS_gettid);
    pthread_setspecific(key_, this);
    stack_bounds();
    thread.arrived.store(1, std::memory_order_release);
    system_call(SYS_futex, &thread.arrived, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    await(&thread);
    mine = number;
  }
  // A destructor of a key. Destructors of the program may run after this one, in up to so many rounds; the thread
  // leaves in the last round.
  void leaves() {
    if (mine == 0) return;
    if (++me().rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
      pthread_setspecific(key_, this);
      return;
    }
    const Busy now;
    recorder_.thread_ends();
    me().state = State::kEnded;
    for (uint32_t number = 1; number <= count_; ++number) {
      if (threads_[number].state == State::kJoins && threads_[number].joins == mine) {
        threads_[number].state = State::kReady;
      }
    }
    memory_.change();
    leaving_ = me().kernel;
    const bool last = std::all_of(&threads_[1], &threads_[count_ + 1],
                                  [](const Thread& thread) { return thread.state == State::kEnded; });
    // The last thread calls exit().
    if (last) return;
    const uint16_t may = ready();
    const uint32_t to = may != 0 ? decide(may, 0, behind(mine, may)) : idle();
    mine = 0;
    pass(to);
  }
  uint32_t number_of(uint64_t handle) const {
    for (uint32_t number = 1; number <= count_; ++number) {
      if (static_cast<uint64_t>(threads_[number].handle) == handle && !joined_[number]) return number;
    }
    return 0;
  }
  // Returns where the program has called the runtime, which keeps frame pointers.
  static CallSite caller() {
    const auto* frame = static_cast<void* const*>(__builtin_frame_address(0));
    while (powercut_code(frame[1]) == POWERCUT_RUNTIME) frame = static_cast<void* const*>(frame[0]);
    return {frame[1], frame[0]};
  }
  int on_join(uint64_t handle, void** result) {
    const Busy now;
    const uint32_t number = number_of(handle);
    if (number == mine) return EDEADLK;
    if (number != 0 && threads_[number].state != State::kEnded) {
      me().joins = number;
      recorder_.left("waits", caller());
      wait(State::kJoins);
    }
    const int error = pthread_join(static_cast<pthread_t>(handle), result);
    if (error == 0 && number != 0) {
      joined_[number] = true;
      places_.joined(mine, number);
    }
    return error;
  }

  // ---- listening -----------------------------------------------------------------------------------------

  void set_windows() {
    // A store that one thread alone can see matters in the pools only.
    __powercut_store_window = alone() ? places_.pools() : powercut_window{1, ~uint64_t{0} - 1};
    __powercut_load_window = alone() ? powercut_window{0, 0} : powercut_window{1, ~uint64_t{0} - 1};
    powercut_keep_live(alone() ? nullptr : live_);
    __powercut_steps = alone() ? INT64_MAX : kSteps;
  }
  static Program& of(void* program) { return *static_cast<Program*>(program); }
  void listen();

  SharedPlaces places_;
  pthread_key_t key_{};
  // All data below belongs to the thread that has the token.
  std::array<bool, kMostThreads + 1> joined_{};
  uint64_t live_[7] = {};
  std::array<uint8_t, 16> before_{};
};

Program* program = nullptr;

void* Program::enter(void* self) {
  Program& all = of(self);
  // The creator waits until the new thread has arrived.
  const uint32_t number = all.count_ + 1;
  Thread& thread = all.threads_[number];
  all.run(number);
  return thread.body(thread.argument);
}

void Program::listen() {
  powercut_sink sink = recorder_.sink;
  sink.self = this;
  sink.load = [](void* s, uint64_t a, uint64_t n) { of(s).on_load(a, n); };
  sink.store = [](void* s, uint64_t a, uint64_t n, uint32_t f, const void* v, const void* pc, const void* fp) {
    of(s).on_store(a, n, f, v, {pc, fp});
  };
  sink.rmw_begin = [](void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
    of(s).on_rmw_begin(a, n, {pc, fp});
  };
  sink.rmw_end = [](void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
    of(s).on_rmw_end(a, n, stored, {pc, fp});
  };
  sink.flush = [](void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
    of(s).on_flush(a, kind, {pc, fp});
  };
  sink.fence = [](void* s, uint32_t kind, const void* pc, const void* fp) { of(s).on_fence(kind, {pc, fp}); };
  sink.mark = [](void* s, const char* name) {
    const powercut_sink& recorder = of(s).recorder_.sink;
    recorder.mark(recorder.self, name);
  };
  sink.out_of_steps = [](void* s, const uint64_t* live) {
    of(s).set_windows();
    of(s).on_pause(live);
  };
  powercut_set_sink(&sink);
  __powercut_watch.cannot_follow = [](const char* what, const void*, const void*) {
    if (program != nullptr) program->doubt(what);
  };
  __powercut_scheduler = {
      .self = this,
      .pause = [](void* s, const uint64_t* live) { of(s).on_pause(live); },
      .access = [](void* s, const void* at, uint64_t n, const void* pc,
                   const void* frame) { of(s).on_access(at, n, {pc, frame}); },
      .wait = [](void* s, const void* at, uint64_t n, const void* pc,
                 const void* frame) { of(s).on_wait(at, n, {pc, frame}); },
      .create = [](void* s, uint64_t* thread, void* (*body)(void*),
                   void* argument) { return of(s).on_create(thread, body, argument); },
      .join = [](void* s, uint64_t thread, void** result) { return of(s).on_join(thread, result); },
      .detach = [](void*, uint64_t thread) { return pthread_detach(static_cast<pthread_t>(thread)); },
      .exit = [](void*, void* result) { pthread_exit(result); },
      .current = [](void*) -> uint64_t { return busy || program->recorder_.records() ? 0 : mine; },
      .of_system = 1,
      .time = [](void* s) { return of(s).on_time(); }};
  // The cycles are those of a processor that counts nanoseconds.
  powercut_world_cycles = [](uint64_t real) { return program == nullptr ? real : program->on_time(); };
}

}  // namespace

bool follow_schedule(const char* path, const ScheduleRecorder& recorder) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  void* mapped = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(ScheduleFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) return false;
  auto* file = static_cast<ScheduleFile*>(mapped);
  int32_t nobody = 0;
  if (file->version != kScheduleVersion || !file->owner.compare_exchange_strong(nobody, getpid())) {
    munmap(mapped, sizeof(ScheduleFile));
    return false;
  }
  program = new Program(file, recorder);
  return true;
}

bool follows_schedule() { return program != nullptr; }

uint32_t scheduled_number() { return mine; }

void schedule_pools(const powercut_window& window) { program->set_pools(window); }

void schedule_point(const CallSite& site) {
  if (program != nullptr) program->point(site);
}

void schedule_operation(const CallSite& site) {
  if (program != nullptr) program->operation(site);
}

void schedule_operation_ended() {
  if (program != nullptr) program->operation_ended();
}

void schedule_ends(const CallSite& site) {
  if (program != nullptr) program->ends(site);
}

void leave_schedule() {
  program = nullptr;
  mine = 0;
  __powercut_scheduler = {};
  powercut_world_cycles = nullptr;
  powercut_keep_live(nullptr);
  __powercut_steps = INT64_MAX;
}

}  // namespace powercut::runtime
