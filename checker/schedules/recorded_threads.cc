#include "checker/schedules/recorded_threads.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checker/schedules/recorded_cuts.h"
#include "checker/schedules/turn.h"
#include "checker/schedules/watched_code.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/thread_locals.h"

namespace powercut {
namespace {

// Turns of waiting in a row after which a thread counts as one that waits for ever.
constexpr uint64_t kLongWait = 10'000;
constexpr size_t kDeepest = size_t{4} << 20;  // bytes of stack below an operation's frame

class Threads {
 public:
  Threads(const ThreadWork& work, bool eadr, const std::function<void()>& progress,
          const std::function<void(const Event&)>& append)
      : work_(work), progress_(progress), append_(append), cuts_(*work.history, eadr, append) {}

  RecordedThreads run() {
    threads_now = this;
    turn_.take();
    const auto own = work_.background == nullptr ? 0 : work_.background->threads(work_.table);
    for (const std::vector<Alternatives>& operations : work_.clients) {
      add([this, &operations](Thread* self) { run_client(self, operations); });
    }
    clients_left_ = threads_.size();
    for (uint32_t number = 0; number < own; ++number) {
      add([this, number](Thread* self) { run_background(self, number); });
    }
    if (!work_.after.empty()) add([this](Thread* self) { run_after(self); });
    workers_left_ = work_.clients.size() + (work_.after.empty() ? 0 : 1);
    listen();
    turn_.give();
    for (size_t i = 0; i < started(); ++i) pthread_join(thread_at(i)->handle, nullptr);
    stop_listening();
    // Where no order explains the answers, nothing is legal that a power cut could leave.
    if (!trouble_ || trouble_->first != Trouble::kNotLinearizable) cuts_.cut();
    if (trouble_) {
      Event event;
      event.kind = EventKind::kTrouble;
      event.code = static_cast<uint8_t>(trouble_->first);
      event.text = trouble_->second;
      append_(event);
    }
    threads_now = nullptr;
    counts_.cuts = cuts_.count();
    return std::move(counts_);
  }

 private:
  struct Thread {
    uint32_t number = 0;  // from 1 on
    std::function<void(Thread*)> body;
    const ThreadOperation* operation = nullptr;
    pthread_t handle{};
    MemoryRange stack;
    sigjmp_buf escape;
    bool in_call = false, ended = false;
    uint64_t seen = 0, idle = 0;  // stores there were when it waited last, and its turns of waiting since
    void* result = nullptr;
  };
  static inline thread_local Thread* self = nullptr;
  static inline Threads* threads_now = nullptr;

  // In a hook: what is allocated, locked and waited for in this scope is the engine's.
  class InEngine {
   public:
    InEngine() : before_(std::exchange(self->in_call, false)) {}
    ~InEngine() { self->in_call = before_; }
    InEngine(const InEngine&) = delete;
    InEngine& operator=(const InEngine&) = delete;

   private:
    const QuietHeap quiet_;
    const bool before_;
  };

  // ---- threads ---------------------------------------------------------------------------------

  Thread* add(std::function<void(Thread*)> body) {
    auto thread = std::make_unique<Thread>();
    thread->number = static_cast<uint32_t>(threads_.size()) + 1;
    thread->body = std::move(body);
    Thread* added = thread.get();
    threads_.push_back(std::move(thread));
    if (pthread_create(&added->handle, nullptr, enter, added) != 0) {
      added->ended = true;
      threads_.pop_back();
      return nullptr;
    }
    return added;
  }
  // Returns the number of threads. Threads of the target may start further threads meanwhile.
  size_t started() {
    turn_.take();
    const size_t count = threads_.size();
    turn_.give();
    return count;
  }
  Thread* thread_at(size_t i) {
    turn_.take();
    Thread* out = threads_[i].get();
    turn_.give();
    return out;
  }

  static void* enter(void* thread) {
    self = static_cast<Thread*>(thread);
    Threads& all = *threads_now;
    // No call here may allocate while another thread's allocations count as the target's.
    all.turn_.take();
    self->stack = own_stack();
    thread_locals();
    // A thread whose part is over goes back by a jump.
    if (sigsetjmp(self->escape, 0) == 0) {
      all.begin_turn();
      self->body(self);
    }
    self->in_call = arena_active = false;
    self->ended = true;
    self->operation = nullptr;
    all.turn_.give();
    all.wait_for_the_end();
    return nullptr;
  }

  static MemoryRange own_stack() {
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + size};
  }

  // Destructors of the target's thread-local variables run when a thread ends: one after another, once nobody else
  // runs.
  void wait_for_the_end() {
    for (;;) {
      turn_.take();
      const bool over = std::all_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread->ended; });
      turn_.give();
      if (over) break;
      sched_yield();
    }
    while (exits_.load() + 1 != self->number) sched_yield();
    exits_.fetch_add(1);
    self = nullptr;
  }

  // Nothing is left open here (plan.cc).
  void run_client(Thread* thread, const std::vector<Alternatives>& operations) {
    for (const Alternatives& operation : operations) run_operation(thread, operation[0]);
    --clients_left_;
    worker_ended();
  }
  void run_after(Thread* thread) {
    while (clients_left_ != 0) wait_a_turn();
    for (const ThreadOperation& operation : work_.after) run_operation(thread, operation);
    worker_ended();
  }
  void worker_ended() {
    if (--workers_left_ == 0) over_ = true;
  }
  void run_background(Thread*, uint32_t number) {
    for (;;) {
      powercut_status status = POWERCUT_OK;
      in_target([&] { status = work_.background->work(work_.table, number); });
      status == POWERCUT_OK ? change_turns() : wait_a_turn();
    }
  }

  void run_operation(Thread* thread, const ThreadOperation& operation) {
    change_turns();
    thread->operation = &operation;
    thread->idle = 0;
    on_event(begin_of(operation, thread->number));
    std::vector<uint8_t> answer(work_.most_value);
    size_t size = 0;
    powercut_status status = POWERCUT_OK;
    in_target([&] { status = call_operation(work_, operation, answer, &size); });
    change_turns();
    const Event end = end_of(status, {answer.data(), size}, thread->number);
    on_event(end);
    if (status == POWERCUT_UNSUPPORTED) {
      counts_.unsupported = not_supported(thread_name(thread->number, &operation));
      give_up_with(counts_.unsupported);
    }
    if (!cuts_.history().unexplained().empty()) {
      const bool looked_up = operation.kind == OpKind::kLookup && status == POWERCUT_OK;
      const auto found = looked_up ? std::optional(text_of(end.value)) : std::nullopt;
      fail(Trouble::kNotLinearizable,
           not_explained(thread_name(thread->number, &operation), operation.id, status, found));
    }
    if (status == POWERCUT_CORRUPT || status == POWERCUT_NOT_FORMATTED) {
      fail(Trouble::kNotLinearizable,
           absl::StrCat(thread_name(thread->number, &operation), " answered ", status_name(status), "."));
    }
    thread->operation = nullptr;
  }

  // Runs `body` as target code. A jump may leave the body's frames, which therefore own nothing.
  template <typename Body>
  void in_target(const Body& body) {
    const auto* here = static_cast<const char*>(__builtin_frame_address(0));
    powercut_stack_range(here - kDeepest, here);
    self->in_call = arena_active = true;
    try {
      body();
    } catch (...) {
      self->in_call = arena_active = false;
      fail_here(Trouble::kDied, "it threw an exception");
    }
    self->in_call = arena_active = false;
  }

  // ---- turns -----------------------------------------------------------------------------------

  void begin_turn() {
    ++counts_.turns;
    progress_();
    work_.recorder->set_thread(self->number);
    if (over_) leave();
  }
  void change_turns() {
    const InEngine engine;
    turn_.change();
    begin_turn();
  }
  // The thread seems unable to go on before another thread has stored something.
  void wait_a_turn() {
    if (self->seen != stores_) self->idle = 0;
    self->seen = stores_;
    ++self->idle;
    const bool stuck = std::all_of(threads_.begin(), threads_.end(), [this](const auto& thread) {
      return thread->ended || (thread->seen == stores_ && thread->idle > kLongWait);
    });
    if (stuck) deadlocked();
    change_turns();
  }
  [[noreturn]] void deadlocked() {
    const QuietHeap quiet;
    std::string text;
    for (const auto& thread : threads_) {
      if (thread->ended || thread->operation == nullptr) continue;
      absl::StrAppend(&text, text.empty() ? "" : "; ", thread_name(thread->number, thread->operation), " waits");
    }
    fail(Trouble::kDeadlock, text + ", and nobody is left to go on.");
  }
  [[noreturn]] void leave() {
    self->in_call = arena_active = false;
    leave_trap();
    siglongjmp(self->escape, 1);
  }
  [[noreturn]] void fail(Trouble kind, std::string text) {
    const QuietHeap quiet;
    if (!over_) trouble_ = {kind, std::move(text)};
    over_ = true;
    leave();
  }
  [[noreturn]] void fail_here(Trouble kind, const std::string& text) {
    const QuietHeap quiet;
    fail(kind, absl::StrCat(thread_name(self->number, self->operation), ": ", text, "."));
  }
  [[noreturn]] void give_up(const std::string& what) {
    const QuietHeap quiet;
    give_up_with(absl::StrCat(thread_name(self->number, self->operation), " could not be followed: ", what));
  }
  [[noreturn]] void give_up_with(std::string doubt) {
    const QuietHeap quiet;
    counts_.doubt = std::move(doubt);
    over_ = true;
    leave();
  }

  // ---- hooks -----------------------------------------------------------------------------------

  static bool is_target() { return self != nullptr && self->in_call; }
  // Code of the target is about to use these bytes, which others may see.
  static bool comes(uint64_t address, uint64_t size) {
    if (!is_target() || size == 0) return false;
    if (self->stack.holds(address, 1)) return true;
    threads_now->change_turns();
    threads_now->check_freed(address, size);
    return true;
  }
  void check_freed(uint64_t address, uint64_t size) {
    if (freed_.empty() || !in_target_heap(reinterpret_cast<const void*>(address))) return;
    for (const MemoryRange& block : freed_) {
      if (address >= block.end || block.begin >= address + size) continue;
      fail_here(Trouble::kUseAfterFree, kUseAfterFree);
    }
  }
  void stored(uint64_t address, uint64_t size, const void* other) {
    if (self->stack.holds(address, 1)) return;
    const auto* place = runtime::place_of(reinterpret_cast<const void*>(address));
    if (std::memcmp(place, other, size) != 0) ++stores_;
  }

  template <typename Listener>
  friend powercut_sink powercut::sink_of(Listener* self);

  void on_load(uint64_t address, uint64_t size) { comes(address, size); }
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc, const void* frame) {
    const bool alone = (flags & (POWERCUT_STORE_CONTINUES | POWERCUT_STORE_IN_STEP)) == 0;
    if (alone ? !comes(address, size) : !is_target()) return;
    const InEngine engine;
    work_.recorder->store(address, size, flags, value, pc, frame);
    stored(address, size, value);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame) {
    if (!comes(address, size)) return;
    const InEngine engine;
    work_.recorder->rmw_begin(address, size, pc, frame);
    const auto* place = runtime::place_of(reinterpret_cast<const void*>(address));
    std::memcpy(rmw_old_, place, std::min<uint64_t>(size, sizeof rmw_old_));
  }
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t is_stored, const void* pc, const void* frame) {
    if (!is_target()) return;
    const InEngine engine;
    work_.recorder->rmw_end(address, size, is_stored, pc, frame);
    if (is_stored != 0) stored(address, std::min<uint64_t>(size, sizeof rmw_old_), rmw_old_);
  }
  void on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame) {
    if (!comes(address, 1)) return;
    const InEngine engine;
    work_.recorder->flush(address, kind, pc, frame);
  }
  void on_fence(uint32_t kind, const void* pc, const void* frame) {
    if (!is_target()) return;
    change_turns();
    const InEngine engine;
    work_.recorder->fence(kind, pc, frame);
  }
  void on_mark(const char* name) {
    if (!is_target()) return;
    const InEngine engine;
    work_.recorder->mark(name);
    if (work_.mark) work_.mark(name);
  }

  int on_create(uint64_t* number, void* (*body)(void*), void* argument) {
    const InEngine engine;
    if (threads_.size() >= POWERCUT_MOST_THREADS) give_up("it starts more threads than can be told apart");
    const Thread* thread =
        add([this, body, argument](Thread* started) { in_target([&] { started->result = body(argument); }); });
    if (thread == nullptr) return EAGAIN;
    *number = thread->number;
    return 0;
  }
  int on_join(uint64_t number, void** result) {
    if (number == 0 || number > threads_.size()) return ESRCH;
    const Thread& thread = *threads_[number - 1];
    while (!thread.ended) wait_a_turn();
    if (result != nullptr) *result = thread.result;
    return 0;
  }
  [[noreturn]] void on_exit(void* result) {
    self->result = result;
    leave();
  }

  void listen() {
    sink_ = sink_of(this);
    powercut_get_sink(&before_);
    work_.recorder->redirect([this](const Event& event) { on_event(event); });
    __powercut_steps = INT64_MAX;
    ArenaEvents heap = {};
    heap.self = this;
    heap.freed = [](void* s, uint64_t a, uint64_t n, const void*, const void*) {
      if (!is_target() || n == 0) return;
      const InEngine engine;
      of(s).freed_.push_back({a, a + n});
    };
    heap.freed_again = [](void* s, uint64_t, uint64_t, const void*, const void*) {
      if (is_target()) of(s).fail_here(Trouble::kDoubleFree, kDoubleFree);
    };
    watch_code({.sink = &sink_,
                .heap = heap,
                .window_begin = 1,
                .pool_size = work_.pool_size,
                .traps = traps(),
                .fault = on_fault,
                .scheduler = scheduler()});
  }
  static TrapClient traps() {
    return {.running = [](uint64_t) { return is_target(); },
            .cannot_follow = [](const std::string& what, const void*, const void*) { threads_now->give_up(what); },
            .blocked = [](const void*, const void*) { threads_now->give_up(kBlocked); }};
  }
  static void on_fault(int signal, siginfo_t*, void*) {
    if (threads_now == nullptr || !is_target()) return die_of(signal);
    threads_now->fail_here(Trouble::kDied, died_of(signal));
  }
  powercut_scheduler scheduler() {
    return {.self = this,
            .pause =
                [](void* s, const uint64_t*) {
                  if (is_target()) of(s).wait_a_turn();
                },
            .access = [](void*, const void* at, uint64_t n, const void*,
                         const void*) { comes(reinterpret_cast<uint64_t>(at), n); },
            .wait = [](void* s, const void*, uint64_t, const void*, const void*) { of(s).wait_a_turn(); },
            .create = [](void* s, uint64_t* number, void* (*body)(void*),
                         void* argument) { return of(s).on_create(number, body, argument); },
            .join = [](void* s, uint64_t number, void** result) { return of(s).on_join(number, result); },
            .detach = [](void*, uint64_t) { return 0; },
            .exit = [](void* s, void* result) { of(s).on_exit(result); },
            .current = [](void*) -> uint64_t { return is_target() ? self->number : 0; },
            .of_system = 0,
            .time = nullptr};
  }
  void stop_listening() {
    unwatch_code();
    __powercut_store_window = __powercut_load_window = {0, 0};
    powercut_set_sink(&before_);
    work_.recorder->redirect(nullptr);
  }
  static Threads& of(void* threads) { return *static_cast<Threads*>(threads); }

  void on_event(const Event& event) { cuts_.add(event, work_.first_event); }

  const ThreadWork& work_;
  const std::function<void()>& progress_;
  const std::function<void(const Event&)>& append_;
  RecordedCuts cuts_;
  powercut_sink sink_{}, before_{};
  Turn turn_;
  // All members below belong to the thread that has the turn.
  std::vector<std::unique_ptr<Thread>> threads_;
  size_t clients_left_ = 0, workers_left_ = 0;
  bool over_ = false;  // threads leave at their next turn
  uint64_t stores_ = 1;
  uint8_t rmw_old_[16] = {};
  std::vector<MemoryRange> freed_;
  std::optional<std::pair<Trouble, std::string>> trouble_;
  RecordedThreads counts_;
  std::atomic<uint32_t> exits_ = 0;
};

}  // namespace

RecordedThreads record_threads(const ThreadWork& work, bool eadr, const std::function<void()>& progress,
                               const std::function<void(const Event&)>& append) {
  return Threads(work, eadr, progress, append).run();
}

}  // namespace powercut
