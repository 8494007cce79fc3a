// Records into a stream (tracer/stream/STREAM.md) what the program does to the pool files that it maps.
//
// The stream begins when the program first does something with a pool, which need not exist before. Of several
// processes that have the environment of the recording, the first to get there is the one that is recorded; another
// one adds a line to `<stream>.unrecorded`.
//
// Known inaccuracies: in pools that are memory, `writev`, `fallocate`, `copy_file_range`, io_uring and system calls
// that are made without the C library are not seen (of a device see device_calls.cc), nor what other processes do to a
// pool. What they leave in it is: at marks, unmappings and the end the pools are compared with what was recorded
// (unseen_stores.h), and a difference is a note of its own.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_STREAM_TRACE_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_STREAM_TRACE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/recording/module_map.h"
#include "tracer/runtime/recording/output_files.h"
#include "tracer/runtime/recording/pool_files.h"
#include "tracer/runtime/recording/program_trace.h"
#include "tracer/runtime/recording/stack_ids.h"
#include "tracer/runtime/recording/unseen_stores.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream.h"

namespace powercut::runtime {

class StreamTrace final : public ProgramTrace {
 public:
  // `device`: a pool that is a block device, or empty. `output`: as of OutputFiles.
  StreamTrace(std::string path, std::string_view pool_files, std::string_view device, std::string_view output);

  bool active() const override { return state_ == State::kRecording; }
  powercut_window window() const override;
  void set_thread(uint32_t thread) override {
    thread_ = thread;
    threads_ = std::max(threads_, thread + 1);
  }
  void begins_event() override;
  void thread_start() override;
  void thread_end() override;
  void store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
             const void* frame) override;
  void load(uint64_t addr, uint64_t size) override;
  void rmw_begin(uint64_t addr, uint64_t size, const void* pc, const void* frame) override;
  void rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) override;
  void flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) override;
  void fence(uint32_t kind, const void* pc, const void* frame) override;
  void mark(const char* name) override;
  void left(const char* how, const void* pc, const void* frame) override;
  void operation_begins(uint32_t kind, std::span<const uint8_t> key, std::span<const uint8_t> value) override;
  void operation_ends(uint32_t status, std::span<const uint8_t> value) override;
  void forked() override;
  std::optional<std::string> finish(int status) override;
  void abandon() override { state_ = State::kEnded; }

  // Before a system call on `fd`: the pool that it is a file of. Begins the stream where that is the first.
  std::optional<uint32_t> touch(int fd);
  // After one that succeeded.
  void mapped(int fd, uint64_t address, uint64_t length, uint64_t offset, bool shared);
  void unmapped(uint64_t address, uint64_t length);
  // Before it happens.
  void unmaps(uint64_t address, uint64_t length);
  void moved(uint64_t from, uint64_t old_length, uint64_t to, uint64_t new_length);
  void written(uint32_t pool, int fd, uint64_t offset, const void* bytes, uint64_t size, const CallSite& site);
  void resized(uint32_t pool, int fd);
  void synced(uint32_t pool, uint32_t kind, uint64_t offset, uint64_t length, const CallSite& site);
  void synced_memory(uint64_t address, uint64_t length, const CallSite& site);

  // Of the recording's device. Calls are made between touch_device() and what they have done, under the session's lock:
  // so the order of the records is that of the calls.
  bool has_device() const { return device_.has_value(); }
  // Whether `fd` is a file of it. Begins the stream where that is the first.
  bool touch_device(int fd);
  // The same by a path, seen from the open folder, before a call on it.
  bool touch_device(int folder, const char* path, bool follow);
  // `durable`: since the call has returned.
  void device_written(int fd, uint64_t offset, const void* bytes, uint64_t size, bool durable, const CallSite& site);
  // What another file or a pipe was the source of, read back.
  void device_filled(int fd, uint64_t offset, uint64_t size, bool durable, const CallSite& site);
  void device_zeroed(int fd, uint64_t offset, uint64_t size, const CallSite& site);
  // Whether it lies on this file system.
  bool is_on(dev_t system);
  void device_resized(int fd, const CallSite& site);
  void device_synced(const CallSite& site);
  // A shared mapping of it, which may be read.
  void device_mapped(uint64_t address, uint64_t length, bool writable);
  void device_protected(uint64_t address, uint64_t length, bool writable);
  // It was asked for something that is not modelled: there will be no verdict. `what`: a call, as in "rename".
  void refuse(const std::string& what);
  // Whether the code at `address` is of a module whose file's name begins so.
  bool is_of(const void* address, std::string_view module);

 private:
  enum class State { kWaiting, kRecording, kEnded };

  bool begin();
  uint32_t define_stack(std::span<const uint64_t> addresses);
  powercut_site site(const void* pc, const void* frame) { return {thread_, stacks_.find(pc, frame)}; }
  powercut_site no_stack() const { return {thread_, 0}; }
  int write(const void* bytes, size_t size);
  // Compares the pools with what was recorded. `place`: where the program is, for people.
  void look(const std::string& place);
  void tell(const UnseenStores::Differences& differences, const std::string& place);

  void write_file(uint32_t pool, uint64_t offset, const void* bytes, uint64_t size, powercut_site site);
  void set_size(uint32_t pool, int fd, powercut_site site);

  const std::string path_;
  PoolFiles files_;
  OutputFiles output_;
  std::optional<uint32_t> device_;                // its number
  std::unique_ptr<powercut_ranges> device_maps_;  // that may be read
  std::set<std::string> refused_;
  State state_ = State::kWaiting;
  uint32_t thread_ = 0, threads_ = 0;
  uint32_t early_forks_ = 0;  // before the stream began
  std::unique_ptr<powercut_ranges> ranges_;
  std::vector<uint8_t> buffer_;
  powercut_stream stream_{};
  ModuleMap modules_;
  std::map<std::string, uint32_t> module_numbers_;
  uint32_t stack_count_ = 0;
  StackIds stacks_;
  UnseenStores unseen_;
  std::string looked_ = "the start of the recording";  // where everything was looked at the last time
  uint32_t told_ = 0;                                  // differences
  uint64_t operations_ = 0;                            // begun
  bool in_pieces_ = false;                             // an earlier piece of the store at hand was recorded
  std::string problem_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_STREAM_TRACE_H_
