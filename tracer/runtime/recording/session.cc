// The recorder of programs that run without the engine. It serves powercut/trace.h and its environment variables, and
// `powercut record`, which sets POWERCUT_STREAM and POWERCUT_POOL_FILES.
//
// Threads are real here. One lock makes one order of all events. The lock is held from the begin to the end of a
// read-modify-write, so that the bytes read from memory are the instruction's own. A plain store runs after its hook
// let the lock go: two threads that race on the same bytes may be recorded in the other order.
#include "tracer/runtime/recording/session.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "powercut/trace.h"
#include "tracer/format/writer.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/recording/pool_trace.h"
#include "tracer/runtime/recording/program_trace.h"
#include "tracer/runtime/recording/stream_trace.h"
#include "tracer/runtime/threads/scheduled_program.h"

namespace powercut::runtime {
namespace {

// A thread's number is good for one trace only.
struct ThisThread {
  uint64_t trace = 0;  // 0: no trace
  uint32_t number = 0;
  // True while the thread holds the session's lock. Events meanwhile cannot be recorded. They are a signal handler's,
  // or the recorder's own: the recorder may call a malloc that the program brought and that is instrumented.
  bool inside = false;
  uint32_t skipped_rmws = 0;  // how many began while nothing could be recorded: their ends are skipped, too
};
constinit thread_local ThisThread this_thread;

class Session {
 public:
  void set_pool(uint64_t base, uint64_t size);
  bool begin(const char* path);
  bool end(int status);
  void end_at_once(int status);
  void begin_from_environment();
  void forked();
  // The child of a fork shares the file but not the trace.
  void abandon();

  void operation_begins(uint32_t kind, std::span<const uint8_t> key, std::span<const uint8_t> value,
                        const CallSite& site) {
    schedule_operation(site);
    record(this, [&](ProgramTrace& trace) { trace.operation_begins(kind, key, value); });
  }
  void operation_ends(uint32_t status, std::span<const uint8_t> value, const CallSite& site) {
    schedule_point(site);
    record(this, [&](ProgramTrace& trace) { trace.operation_ends(status, value); });
    schedule_operation_ended();
  }

  bool has_stream() const { return stream_ != nullptr; }
  bool has_device() const { return stream_ != nullptr && stream_->has_device(); }
  void with_stream(const std::function<void(StreamTrace&)>& action);

 private:
  bool start();
  void start(std::unique_ptr<ProgramTrace> trace);
  powercut_sink sink();
  void follow(const char* schedule);
  void set_windows();
  // Takes the lock and returns the trace. Returns null, without the lock, if nothing may be recorded now.
  ProgramTrace* lock();
  // As lock(), and makes the calling thread the trace's. Returns null also while the trace need not hear of anything.
  ProgramTrace* enter();
  void leave();
  // Makes the calling thread the thread of the trace's next events.
  void number_thread();
  // Calls `action` with the trace, if there is something to record.
  template <typename Action>
  static void record(void* session, Action action);
  static void thread_ends(void* session);

  std::mutex mutex_;
  std::string path_;
  uint64_t base_ = 0, size_ = 0;
  std::unique_ptr<ProgramTrace> recorder_;
  StreamTrace* stream_ = nullptr;  // the same object as recorder_, if it is a stream
  bool wants_loads_ = false;
  pid_t process_ = 0;
  uint64_t trace_ = 0;  // number of the trace in this process, from 1
  uint32_t threads_ = 0;
  bool has_key_ = false;
  pthread_key_t key_{};  // its destructor tells of a thread's end
};

// The session is never destroyed: hooks run until the last thread has gone.
Session& session() {
  static Session& instance = *new Session;
  return instance;
}

ProgramTrace* Session::lock() {
  settle();  // before anything else of this thread is recorded
  if (this_thread.inside) return nullptr;
  this_thread.inside = true;
  mutex_.lock();
  if (recorder_ != nullptr) return recorder_.get();
  leave();
  return nullptr;
}

ProgramTrace* Session::enter() {
  if (lock() == nullptr) return nullptr;
  if (!recorder_->active()) {
    leave();
    return nullptr;
  }
  recorder_->begins_event();
  number_thread();
  return recorder_.get();
}

void Session::number_thread() {
  if (this_thread.trace != trace_ && follows_schedule()) {
    // The threads of a schedule have numbers that are the same in every schedule, and the schedule tells of their
    // begins and ends.
    this_thread.trace = trace_;
    this_thread.number = scheduled_number();
  } else if (this_thread.trace != trace_) {
    this_thread.trace = trace_;
    this_thread.number = threads_++;
    recorder_->set_thread(this_thread.number);
    recorder_->thread_start();
    if (has_key_) pthread_setspecific(key_, this);
  }
  recorder_->set_thread(this_thread.number);
}

void Session::leave() {
  mutex_.unlock();
  this_thread.inside = false;
}

template <typename Action>
void Session::record(void* self, Action action) {
  Session& session = *static_cast<Session*>(self);
  ProgramTrace* recorder = session.enter();
  if (recorder == nullptr) return;
  action(*recorder);
  session.leave();
}

void Session::thread_ends(void* self) {
  Session& session = *static_cast<Session*>(self);
  settle();
  const std::lock_guard lock(session.mutex_);
  if (session.recorder_ == nullptr || this_thread.trace != session.trace_) return;
  session.recorder_->set_thread(this_thread.number);
  session.recorder_->thread_end();
  this_thread.trace = 0;
}

powercut_sink Session::sink() {
  powercut_sink sink{};
  sink.self = this;
  sink.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                  const void* frame) {
    record(self, [&](ProgramTrace& recorder) { recorder.store(addr, size, flags, value, pc, frame); });
  };
  sink.load = [](void* self, uint64_t addr, uint64_t size) {
    record(self, [&](ProgramTrace& recorder) { recorder.load(addr, size); });
  };
  sink.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
    // rmw_end lets the lock go.
    if (ProgramTrace* recorder = static_cast<Session*>(self)->enter()) {
      recorder->rmw_begin(addr, size, pc, frame);
    } else {
      ++this_thread.skipped_rmws;
    }
  };
  sink.rmw_end = [](void* self, uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
    Session& session = *static_cast<Session*>(self);
    if (this_thread.skipped_rmws != 0) {
      --this_thread.skipped_rmws;
      return;
    }
    session.recorder_->rmw_end(addr, size, stored, pc, frame);
    session.leave();
  };
  sink.flush = [](void* self, uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
    record(self, [&](ProgramTrace& recorder) { recorder.flush(addr, kind, pc, frame); });
  };
  sink.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
    record(self, [&](ProgramTrace& recorder) { recorder.fence(kind, pc, frame); });
  };
  sink.mark = [](void* self, const char* name) { record(self, [&](ProgramTrace& recorder) { recorder.mark(name); }); };
  return sink;
}

bool Session::start() {
  TraceError error;
  const std::string metadata =
      "{\"pool\":{\"base\":" + std::to_string(base_) + ",\"size\":" + std::to_string(size_) + "}}";
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(path_, metadata, &error);
  if (writer == nullptr) {
    fprintf(stderr, "powercut: %s\n", error.message().c_str());
    return false;
  }
  start(std::make_unique<PoolTrace>(std::move(writer), base_, size_));
  return true;
}

void Session::start(std::unique_ptr<ProgramTrace> trace) {
  {
    const std::lock_guard lock(mutex_);
    ++trace_;
    threads_ = 0;
    process_ = getpid();
    recorder_ = std::move(trace);
    if (!has_key_) has_key_ = pthread_key_create(&key_, thread_ends) == 0;
  }
  const powercut_sink listener = sink();
  powercut_set_sink(&listener);
  __powercut_store_window = recorder_->window();
}

void Session::set_windows() {
  if (follows_schedule()) return schedule_pools(stream_->window());
  __powercut_store_window = stream_->window();
  if (wants_loads_) __powercut_load_window = stream_->window();
}

// If the program dies, the recording up to then is all that can be told of the schedule.
void Session::follow(const char* schedule) {
  const ScheduleRecorder recorder = {
      .sink = sink(),
      .thread_starts =
          [](uint32_t number) {
            record(&session(), [&](ProgramTrace& trace) {
              trace.set_thread(number);
              trace.thread_start();
            });
          },
      .thread_ends = [] { record(&session(), [](ProgramTrace& trace) { trace.thread_end(); }); },
      .left =
          [](const char* how, const CallSite& site) {
            if (site.pc == nullptr) return;
            record(&session(), [&](ProgramTrace& trace) { trace.left(how, site.pc, site.frame); });
          },
      .finish = [](int status) { session().end(status); },
      .records = [] { return this_thread.inside; }};
  if (!follow_schedule(schedule, recorder)) return;
  struct sigaction dies{};
  dies.sa_sigaction = [](int number, siginfo_t*, void* context) {
    if (!this_thread.inside) {
      const greg_t* const registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
      const auto* const pc = reinterpret_cast<const void*>(registers[REG_RIP] + 1);  // as of a call
      const auto* const frame = reinterpret_cast<const void*>(registers[REG_RBP]);
      record(&session(), [&](ProgramTrace& trace) { trace.left("died", pc, frame); });
      session().end(0);
    }
    signal(number, SIG_DFL);
    raise(number);
  };
  dies.sa_flags = SA_NODEFER | SA_SIGINFO;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &dies, nullptr);
}

void Session::with_stream(const std::function<void(StreamTrace&)>& action) {
  // A thread gets its number at its first event that is recorded.
  if (lock() == nullptr) return;
  if (stream_ != nullptr) {
    stream_->begins_event();
    // Calls on a device are the only events of a recording that has a device.
    if (stream_->has_device() && stream_->active()) number_thread();
    if (this_thread.trace == trace_) stream_->set_thread(this_thread.number);
    if (follows_schedule()) stream_->set_thread(scheduled_number());
    action(*stream_);
    // The first call on the device has begun the stream.
    if (stream_->has_device() && stream_->active()) number_thread();
    set_windows();
  }
  leave();
}

void Session::set_pool(uint64_t base, uint64_t size) {
  if (size_ != 0) {
    fprintf(stderr, "powercut: powercut_trace_pool: the pool is already at 0x%llx; one trace has one pool.\n",
            static_cast<unsigned long long>(base_));
    return;
  }
  base_ = base;
  size_ = size;
  if (!path_.empty()) start();
}

bool Session::begin(const char* path) {
  if (recorder_ != nullptr) {
    fprintf(stderr, "powercut: powercut_trace_begin: %s is still being written. Call powercut_trace_end first.\n",
            path_.c_str());
    return false;
  }
  path_ = path;
  return size_ == 0 || start();
}

bool Session::end(int status) {
  if (recorder_ == nullptr) return true;
  settle();
  __powercut_store_window = __powercut_load_window = {0, 0};
  powercut_set_sink(nullptr);
  std::optional<std::string> problem;
  if (lock() != nullptr) {
    problem = recorder_->finish(status);
    stream_ = nullptr;
    recorder_.reset();
    path_.clear();
    leave();
  }
  if (problem) fprintf(stderr, "powercut: %s\n", problem->c_str());
  return !problem;
}

void Session::end_at_once(int status) {
  // The child of a vfork has this memory and another process id.
  if (getpid() == process_) end(status);
}

void Session::forked() {
  // The call is made also before anything is recorded: a child may be the process that works on the pool.
  if (ProgramTrace* trace = lock()) {
    trace->forked();
    leave();
  }
}

void Session::abandon() {
  // A stream that did not begin is this process's as much as its parent's.
  if (recorder_ == nullptr || !recorder_->active()) return;
  __powercut_store_window = __powercut_load_window = {0, 0};
  powercut_set_sink(nullptr);
  recorder_->abandon();
  stream_ = nullptr;
  // Another thread of the parent may have been at work in the recorder: it is left as it is.
  static_cast<void>(recorder_.release());
}

void Session::begin_from_environment() {
  const char* stream = getenv("POWERCUT_STREAM");
  const char* files = getenv("POWERCUT_POOL_FILES");
  const char* device = getenv("POWERCUT_DEVICE_FILE");
  const char* output = getenv("POWERCUT_OUTPUT");
  if (stream != nullptr && *stream != '\0' && (files != nullptr || device != nullptr)) {
    path_ = stream;
    wants_loads_ = getenv("POWERCUT_STREAM_LOADS") != nullptr;
    const auto text = [](const char* value) { return value == nullptr ? "" : value; };
    auto trace = std::make_unique<StreamTrace>(path_, text(files), text(device), text(output));
    stream_ = trace.get();
    start(std::move(trace));
    if (const char* schedule = getenv("POWERCUT_SCHEDULE")) follow(schedule);
    return;
  }
  const char* path = getenv("POWERCUT_TRACE");
  if (path == nullptr || *path == '\0') return;
  path_ = path;
  const char* base = getenv("POWERCUT_POOL_BASE");
  const char* size = getenv("POWERCUT_POOL_SIZE");
  if (base == nullptr && size == nullptr) return;  // the program will say powercut_trace_pool
  const auto number = [](const char* text, uint64_t* out) {
    char* end = nullptr;
    errno = 0;
    if (text != nullptr) *out = strtoull(text, &end, 0);
    return text != nullptr && errno == 0 && end != text && *end == '\0';
  };
  uint64_t from = 0, bytes = 0;
  if (!number(base, &from) || !number(size, &bytes) || bytes == 0) {
    fprintf(stderr,
            "powercut: POWERCUT_POOL_BASE and POWERCUT_POOL_SIZE must both be numbers (0x... or decimal). "
            "Nothing is traced.\n");
    path_.clear();
    return;
  }
  set_pool(from, bytes);
}

__attribute__((constructor)) void start_with_program() {
  const auto in_child = [] {
    if (follows_schedule()) leave_schedule();
    session().abandon();
  };
  pthread_atfork(nullptr, [] { session().forked(); }, in_child);
  session().begin_from_environment();
}

// The exit status that exit() was called with, once it was.
int exit_status = 0;

// Destructors of the program's own objects may still store: this library's run after them.
__attribute__((destructor)) void end_with_program() { session().end(exit_status); }

}  // namespace

bool watches_pools() { return session().has_stream(); }

bool watches_device() { return session().has_device(); }

void with_stream(const std::function<void(StreamTrace&)>& action) { session().with_stream(action); }

void note_exit_status() {
  // Called late, so that it runs early in exit(): handlers run in the opposite order, destructors after them.
  on_exit(
      [](int status, void*) {
        exit_status = status;
        schedule_ends(call_site());
      },
      nullptr);
}

void end_at_once(int status) {
  schedule_ends(call_site());
  session().end_at_once(status);
}

}  // namespace powercut::runtime

extern "C" {

void powercut_trace_pool(void* base, size_t size) {
  powercut::runtime::session().set_pool(reinterpret_cast<uint64_t>(base), size);
}

// The header powercut/mark.h calls the following functions.
void __powercut_mark_begin(unsigned kind, const void* key, unsigned long key_size, const void* value,
                           unsigned long value_size) {
  powercut::runtime::session().operation_begins(kind, {static_cast<const uint8_t*>(key), key_size},
                                                {static_cast<const uint8_t*>(value), value_size},
                                                powercut::runtime::call_site());
}

void __powercut_mark_end(unsigned status, const void* value, unsigned long size) {
  powercut::runtime::session().operation_ends(status, {static_cast<const uint8_t*>(value), size},
                                              powercut::runtime::call_site());
}

int powercut_trace_begin(const char* path) { return powercut::runtime::session().begin(path) ? 0 : -1; }

int powercut_trace_end(void) { return powercut::runtime::session().end(0) ? 0 : -1; }

}  // extern "C"
