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

constexpr uint32_t kUnnumbered = UINT32_MAX;
constinit thread_local uint32_t thread_number = kUnnumbered;

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
  // Takes the lock and makes the calling thread the recorder's.
  std::unique_lock<std::mutex> enter();
  static void thread_ends(void* session);

  std::mutex mutex_;
  std::string path_;
  uint64_t base_ = 0, size_ = 0;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<Recorder> recorder_;
  uint32_t threads_ = 0;
  bool has_key_ = false;
  pthread_key_t key_{};  // its destructor tells of a thread's end
};

// Never destroyed: hooks run until the last thread has gone.
Session& session() {
  static Session& instance = *new Session;
  return instance;
}

std::unique_lock<std::mutex> Session::enter() {
  std::unique_lock lock(mutex_);
  if (recorder_ == nullptr) return lock;
  if (thread_number == kUnnumbered) {
    thread_number = threads_++;
    recorder_->set_thread(thread_number);
    recorder_->thread_start();
    if (has_key_) pthread_setspecific(key_, this);
  }
  recorder_->set_thread(thread_number);
  return lock;
}

void Session::thread_ends(void* self) {
  Session& session = *static_cast<Session*>(self);
  const std::lock_guard lock(session.mutex_);
  if (session.recorder_ == nullptr || thread_number == kUnnumbered) return;
  session.recorder_->set_thread(thread_number);
  session.recorder_->thread_end();
  thread_number = kUnnumbered;
}

powercut_sink Session::sink() {
  powercut_sink sink{};
  sink.self = this;
  sink.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                  const void* frame) {
    Session& session = *static_cast<Session*>(self);
    const auto lock = session.enter();
    if (session.recorder_ != nullptr) session.recorder_->store(addr, size, flags, value, pc, frame);
  };
  sink.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
    Session& session = *static_cast<Session*>(self);
    auto lock = session.enter();
    if (session.recorder_ != nullptr) session.recorder_->rmw_begin(addr, size, pc, frame);
    lock.release();  // rmw_end unlocks
  };
  sink.rmw_end = [](void* self, uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
    Session& session = *static_cast<Session*>(self);
    const std::unique_lock lock(session.mutex_, std::adopt_lock);
    if (session.recorder_ != nullptr) session.recorder_->rmw_end(addr, size, stored, pc, frame);
  };
  sink.flush = [](void* self, uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
    Session& session = *static_cast<Session*>(self);
    const auto lock = session.enter();
    if (session.recorder_ != nullptr) session.recorder_->flush(addr, kind, pc, frame);
  };
  sink.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
    Session& session = *static_cast<Session*>(self);
    const auto lock = session.enter();
    if (session.recorder_ != nullptr) session.recorder_->fence(kind, pc, frame);
  };
  sink.mark = [](void* self, const char* name) {
    Session& session = *static_cast<Session*>(self);
    const auto lock = session.enter();
    if (session.recorder_ != nullptr) session.recorder_->mark(name);
  };
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
  threads_ = 0;
  thread_number = kUnnumbered;
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
