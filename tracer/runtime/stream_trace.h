// Records into a stream (tracer/stream/STREAM.md) what the program does to the pool files that it maps.
//
// The stream begins when the program first does something with a pool, which need not exist before. Of several
// processes that have the environment of the recording, the first to get there is the one that is recorded; another
// one adds a line to `<stream>.unrecorded`.
//
// Known inaccuracies: `writev`, `fallocate`, `copy_file_range`, io_uring and system calls that are made without the
// C library are not seen, nor what other processes do to a pool. What they leave in it is: at marks, unmappings and the
// end the pools are compared with what was recorded (unseen_stores.h), and a difference is a note of its own.
#ifndef POWERCUT_TRACER_RUNTIME_STREAM_TRACE_H_
#define POWERCUT_TRACER_RUNTIME_STREAM_TRACE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/runtime/module_map.h"
#include "tracer/runtime/pool_files.h"
#include "tracer/runtime/program_trace.h"
#include "tracer/runtime/stack_ids.h"
#include "tracer/runtime/unseen_stores.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream.h"

namespace powercut::runtime {

class StreamTrace final : public ProgramTrace {
 public:
  StreamTrace(std::string path, std::string_view pool_files);

  bool active() const override { return state_ == State::kRecording; }
  powercut_window window() const override;
  void set_thread(uint32_t thread) override {
    thread_ = thread;
    threads_ = std::max(threads_, thread + 1);
  }
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
  void written(uint32_t pool, int fd, uint64_t offset, const void* bytes, uint64_t size);
  void resized(uint32_t pool, int fd);
  void synced(uint32_t pool, uint32_t kind, uint64_t offset, uint64_t length);
  void synced_memory(uint64_t address, uint64_t length);

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

  const std::string path_;
  PoolFiles files_;
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
#endif  // POWERCUT_TRACER_RUNTIME_STREAM_TRACE_H_
