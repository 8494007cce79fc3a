// The recorder of programs that run without the engine: powercut/trace.h and its environment variables.
//
// Threads are real here. One lock makes one order of all events; it is held from the begin to the end of a
// read-modify-write, so that what is read from memory is what that instruction stored. A plain store runs after
// its hook let the lock go: two threads that race on the same bytes may be recorded in the other order.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "powercut/trace.h"
#include "tracer/format/writer.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/recorder.h"

namespace powercut::runtime {
namespace {

// A thread's number is good for one trace only.
struct ThisThread {
  uint64_t trace = 0;  // 0: none
  uint32_t number = 0;
  // The thread holds the session's lock. What it does meanwhile is the recorder's own (it may call a malloc that
  // the program brought and that is instrumented) or a signal handler's, and cannot be recorded.
  bool inside = false;
  uint32_t skipped_rmws = 0;  // begun while nothing could be recorded: their ends are skipped, too
};
constinit thread_local ThisThread this_thread;

class Session {
 public:
  void set_pool(uint64_t base, uint64_t size);
  bool begin(const char* path);
  bool end();
  void begin_from_environment();
  // The child of a fork shares the file but not the trace.
  void abandon();

 private:
  bool start();
  powercut_sink sink();
  // Takes the lock and makes the calling thread the recorder's. Null: nothing may be recorded now, and the lock
  // was not taken.
  Recorder* enter();
  void leave();
  // Calls `action` with the recorder, if there is something to record.
  template <typename Action>
  static void record(void* session, Action action);
  static void thread_ends(void* session);

  std::mutex mutex_;
  std::string path_;
  uint64_t base_ = 0, size_ = 0;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<Recorder> recorder_;
  uint64_t trace_ = 0;  // which trace of this process, from 1
  uint32_t threads_ = 0;
  bool has_key_ = false;
  pthread_key_t key_{};  // its destructor tells of a thread's end
};

// Never destroyed: hooks run until the last thread has gone.
Session& session() {
  static Session& instance = *new Session;
  return instance;
}

Recorder* Session::enter() {
  if (this_thread.inside) return nullptr;
  this_thread.inside = true;
  mutex_.lock();
  if (recorder_ == nullptr) {
    leave();
    return nullptr;
  }
  if (this_thread.trace != trace_) {
    this_thread.trace = trace_;
    this_thread.number = threads_++;
    recorder_->set_thread(this_thread.number);
    recorder_->thread_start();
    if (has_key_) pthread_setspecific(key_, this);
  }
  recorder_->set_thread(this_thread.number);
  return recorder_.get();
}

void Session::leave() {
  mutex_.unlock();
  this_thread.inside = false;
}

template <typename Action>
void Session::record(void* self, Action action) {
  Session& session = *static_cast<Session*>(self);
  Recorder* recorder = session.enter();
  if (recorder == nullptr) return;
  action(*recorder);
  session.leave();
}

void Session::thread_ends(void* self) {
  Session& session = *static_cast<Session*>(self);
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
    record(self, [&](Recorder& recorder) { recorder.store(addr, size, flags, value, pc, frame); });
  };
  sink.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
    // rmw_end lets the lock go.
    if (Recorder* recorder = static_cast<Session*>(self)->enter()) {
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
    record(self, [&](Recorder& recorder) { recorder.flush(addr, kind, pc, frame); });
  };
  sink.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
    record(self, [&](Recorder& recorder) { recorder.fence(kind, pc, frame); });
  };
  sink.mark = [](void* self, const char* name) { record(self, [&](Recorder& recorder) { recorder.mark(name); }); };
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
  {
    const std::lock_guard lock(mutex_);
    ++trace_;
    threads_ = 0;
    writer_ = std::move(writer);
    recorder_ = std::make_unique<Recorder>(*writer_, base_, size_);
    if (!has_key_) has_key_ = pthread_key_create(&key_, thread_ends) == 0;
  }
  const powercut_sink listener = sink();
  powercut_set_sink(&listener);
  __powercut_store_window = recorder_->store_window();
  return true;
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

bool Session::end() {
  if (recorder_ == nullptr) return true;
  __powercut_store_window = {0, 0};
  powercut_set_sink(nullptr);
  const std::lock_guard lock(mutex_);
  recorder_.reset();
  const std::optional<TraceError> error = writer_->finish();
  writer_.reset();
  path_.clear();
  if (error) fprintf(stderr, "powercut: %s\n", error->message().c_str());
  return !error;
}

void Session::abandon() {
  if (recorder_ == nullptr) return;
  __powercut_store_window = {0, 0};
  powercut_set_sink(nullptr);
  // Released, not destroyed: the destructor would remove the parent's unfinished file.
  static_cast<void>(recorder_.release());
  static_cast<void>(writer_.release());
}

void Session::begin_from_environment() {
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
  pthread_atfork(nullptr, nullptr, [] { session().abandon(); });
  session().begin_from_environment();
}

// Destructors of the program's own objects may still store: this library's run after them.
__attribute__((destructor)) void end_with_program() { session().end(); }

}  // namespace
}  // namespace powercut::runtime

extern "C" {

void powercut_trace_pool(void* base, size_t size) {
  powercut::runtime::session().set_pool(reinterpret_cast<uint64_t>(base), size);
}

int powercut_trace_begin(const char* path) { return powercut::runtime::session().begin(path) ? 0 : -1; }

int powercut_trace_end(void) { return powercut::runtime::session().end() ? 0 : -1; }

}  // extern "C"
