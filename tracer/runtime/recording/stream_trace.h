// Records the program's accesses to the pool files that it maps into a stream (tracer/stream/STREAM.md).
//
// The stream begins when the program first does something with a pool, which need not exist before. If several
// processes have the environment of the recording, the first process to reach a pool is recorded; every other process
// adds a line to `<stream>.unrecorded`.
//
// Known inaccuracies: in pools that are memory, some calls are not seen: `writev`, `fallocate`, `copy_file_range`,
// io_uring, and system calls that are made without the C library (for a device see device_calls.cc). Nor are accesses
// of other processes to a pool. Unseen calls leave a difference: at marks, unmappings and the end the pools are
// compared with the recorded stores (unseen_stores.h), and each difference becomes a note.
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
  // `device`: a pool that is a block device, or empty. `output`: the folder of OutputFiles.
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

  // Called before a system call on `fd`: returns the pool that `fd` is a file of. The first such call begins the
  // stream.
  std::optional<uint32_t> touch(int fd);
  // Called after a call that succeeded.
  void mapped(int fd, uint64_t address, uint64_t length, uint64_t offset, bool shared);
  void unmapped(uint64_t address, uint64_t length);
  // Called before a range is unmapped.
  void unmaps(uint64_t address, uint64_t length);
  void moved(uint64_t from, uint64_t old_length, uint64_t to, uint64_t new_length);
  void written(uint32_t pool, int fd, uint64_t offset, const void* bytes, uint64_t size, const CallSite& site);
  void resized(uint32_t pool, int fd);
  void synced(uint32_t pool, uint32_t kind, uint64_t offset, uint64_t length, const CallSite& site);
  void synced_memory(uint64_t address, uint64_t length, const CallSite& site);

  // Functions on the recording's device. Each call on the device is made between touch_device() and the function that
  // records its effect, under the session's lock: the order of the records is the order of the calls.
  bool has_device() const { return device_.has_value(); }
  // Returns whether `fd` is a file of the device. The first such call begins the stream.
  bool touch_device(int fd);
  // As above, for a path that is seen from the open folder; called before a call on the path.
  bool touch_device(int folder, const char* path, bool follow);
  // `durable`: the bytes are durable once the call has returned.
  void device_written(int fd, uint64_t offset, const void* bytes, uint64_t size, bool durable, const CallSite& site);
  // Records bytes that came from another file or a pipe; they are read back from the device.
  void device_filled(int fd, uint64_t offset, uint64_t size, bool durable, const CallSite& site);
  void device_zeroed(int fd, uint64_t offset, uint64_t size, const CallSite& site);
  // Returns whether the device's file lies on this file system.
  bool is_on(dev_t system);
  void device_resized(int fd, const CallSite& site);
  void device_synced(const CallSite& site);
  // Records a shared mapping of the device, which may only be read.
  void device_mapped(uint64_t address, uint64_t length, bool writable);
  void device_protected(uint64_t address, uint64_t length, bool writable);
  // The program asked the device for something that is not modelled: there will be no verdict. `what`: a call, as in
  // "rename".
  void refuse(const std::string& what);
  // Returns whether the code at `address` is of a module whose file's name begins with `module`.
  bool is_of(const void* address, std::string_view module);

 private:
  enum class State { kWaiting, kRecording, kEnded };

  bool begin();
  uint32_t define_stack(std::span<const uint64_t> addresses);
  powercut_site site(const void* pc, const void* frame) { return {thread_, stacks_.find(pc, frame)}; }
  powercut_site no_stack() const { return {thread_, 0}; }
  int write(const void* bytes, size_t size);
  // Compares the pools with the recorded stores. `place`: where the program is, for people.
  void look(const std::string& place);
  void tell(const UnseenStores::Differences& differences, const std::string& place);

  void write_file(uint32_t pool, uint64_t offset, const void* bytes, uint64_t size, powercut_site site);
  void set_size(uint32_t pool, int fd, powercut_site site);

  const std::string path_;
  PoolFiles files_;
  OutputFiles output_;
  std::optional<uint32_t> device_;                // number of the device
  std::unique_ptr<powercut_ranges> device_maps_;  // mappings of the device that may be read
  std::set<std::string> refused_;
  State state_ = State::kWaiting;
  uint32_t thread_ = 0, threads_ = 0;
  uint32_t early_forks_ = 0;  // forks before the stream began
  std::unique_ptr<powercut_ranges> ranges_;
  std::vector<uint8_t> buffer_;
  powercut_stream stream_{};
  ModuleMap modules_;
  std::map<std::string, uint32_t> module_numbers_;
  uint32_t stack_count_ = 0;
  StackIds stacks_;
  UnseenStores unseen_;
  std::string looked_ = "the start of the recording";  // place of the last look at everything
  uint32_t told_ = 0;                                  // differences that were told
  uint64_t operations_ = 0;                            // operations that have begun
  bool in_pieces_ = false;                             // an earlier piece of the store at hand was recorded
  std::string problem_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_STREAM_TRACE_H_
