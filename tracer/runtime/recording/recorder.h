// Turns the calls to a listener (hooks.h) into trace events. The engine's `record` and programs that trace themselves
// (powercut/trace.h) use the recorder.
//
// Events are in the order of the calls. Stores are clipped to the pool, and a store longer than a line is cut into
// pieces at line boundaries. Flushes outside the pool are left out; fences never are. Not thread-safe: with real
// threads the caller holds a lock from rmw_begin to rmw_end and around every other call.
//
// Libraries must not be unloaded while a recorder lives: stacks are cached by address.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_RECORDER_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_RECORDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "tracer/format/writer.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/recording/module_map.h"
#include "tracer/runtime/recording/stack_ids.h"

namespace powercut {

class Recorder {
 public:
  // `writer` outlives the recorder. Others may append to the writer as well (operations, phases).
  Recorder(TraceWriter& writer, uint64_t pool_base, uint64_t pool_size);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // From here on events go to `to` in place of the writer; null: to the writer again. The writer still defines the
  // stacks of redirected events.
  void redirect(std::function<void(const Event&)> to) { redirected_ = std::move(to); }
  // Sets the thread of the following events.
  void set_thread(uint32_t thread) { thread_ = thread; }

  void store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc, const void* frame);
  void flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame);
  void fence(uint32_t kind, const void* pc, const void* frame);
  void rmw_begin(uint64_t addr, uint64_t size, const void* pc, const void* frame);
  void rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame);
  void mark(std::string_view name);
  // Records a content that a device's word may name from now on; each content is written once.
  void content(uint64_t name, std::span<const uint8_t> bytes);
  void thread_start();
  void thread_end();

  // Returns the trace's id of the call stack at a hook.
  uint32_t stack(const void* pc, const void* frame) { return stacks_.find(pc, frame); }

  // Returns a sink that forwards to this recorder, without loads and steps.
  powercut_sink sink();
  // Returns the store window in which this recorder sees every store of up to a line that touches the pool.
  powercut_window store_window() const;

 private:
  uint32_t define_stack(std::span<const uint64_t> addresses);
  void append_store(uint64_t addr, uint64_t size, uint32_t flags, const uint8_t* value, uint32_t stack);
  void append(const Event& event);

  TraceWriter& writer_;
  std::function<void(const Event&)> redirected_;
  const uint64_t base_;
  const uint64_t size_;
  uint32_t thread_ = 0;
  std::optional<uint32_t> piece_of_;  // the thread of a store that the next piece may continue
  std::unordered_set<uint64_t> named_;
  ModuleMap modules_;
  StackIds stacks_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_RECORDER_H_
