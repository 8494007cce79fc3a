// A trace of one pool whose place the program has told (powercut/trace.h). Each event goes through the recorder to the
// writer of the trace's file; loads are not recorded.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_POOL_TRACE_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_POOL_TRACE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tracer/format/writer.h"
#include "tracer/runtime/recording/program_trace.h"
#include "tracer/runtime/recording/recorder.h"

namespace powercut::runtime {

class PoolTrace final : public ProgramTrace {
 public:
  PoolTrace(std::unique_ptr<TraceWriter> writer, uint64_t base, uint64_t size)
      : writer_(std::move(writer)), recorder_(std::in_place, *writer_, base, size) {}

  bool active() const override { return true; }
  powercut_window window() const override { return recorder_->store_window(); }
  void set_thread(uint32_t thread) override {
    thread_ = thread;
    recorder_->set_thread(thread);
  }
  void thread_start() override { recorder_->thread_start(); }
  void thread_end() override { recorder_->thread_end(); }
  void store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
             const void* frame) override {
    recorder_->store(addr, size, flags, value, pc, frame);
  }
  void load(uint64_t, uint64_t) override {}
  void rmw_begin(uint64_t addr, uint64_t size, const void* pc, const void* frame) override {
    recorder_->rmw_begin(addr, size, pc, frame);
  }
  void rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) override {
    recorder_->rmw_end(addr, size, stored, pc, frame);
  }
  void flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) override {
    recorder_->flush(addr, kind, pc, frame);
  }
  void fence(uint32_t kind, const void* pc, const void* frame) override { recorder_->fence(kind, pc, frame); }
  void mark(const char* name) override { recorder_->mark(name); }
  void operation_begins(uint32_t kind, std::span<const uint8_t> key, std::span<const uint8_t> value) override {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(kind);
    event.thread = thread_;
    event.key = key;
    if (kind == static_cast<uint32_t>(OpKind::kMaintain)) {
      event.text = {reinterpret_cast<const char*>(value.data()), value.size()};
    } else {
      event.value = value;
    }
    writer_->append(event);
  }
  void operation_ends(uint32_t status, std::span<const uint8_t> value) override {
    Event event;
    event.kind = EventKind::kOpEnd;
    event.code = static_cast<uint8_t>(status);
    event.thread = thread_;
    event.value = value;
    writer_->append(event);
  }

  std::optional<std::string> finish(int) override {
    recorder_.reset();
    const std::optional<TraceError> error = writer_->finish();
    return error ? std::optional(error->message()) : std::nullopt;
  }
  // The writer is released, not destroyed: its destructor would remove the parent's unfinished file.
  void abandon() override { static_cast<void>(writer_.release()); }

 private:
  std::unique_ptr<TraceWriter> writer_;
  std::optional<Recorder> recorder_;
  uint32_t thread_ = 0;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_POOL_TRACE_H_
