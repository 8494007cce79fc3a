// The recording that a program makes of itself when it runs without the engine. It is a trace of one pool whose place
// the program tells (powercut/trace.h), or a stream of the pool files that the program maps (stream_trace.h).
//
// Not thread-safe: session.cc holds its lock around every call.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_PROGRAM_TRACE_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_PROGRAM_TRACE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tracer/runtime/hooks.h"

namespace powercut::runtime {

class ProgramTrace {
 public:
  ProgramTrace() = default;
  ProgramTrace(const ProgramTrace&) = delete;
  ProgramTrace& operator=(const ProgramTrace&) = delete;
  virtual ~ProgramTrace() = default;

  // Returns false while nothing that happens can matter: no pool was seen yet.
  virtual bool active() const = 0;
  // Returns the window outside of which stores and loads are not announced.
  virtual powercut_window window() const = 0;

  // Called before each event: output that has left the program by now came before the event.
  virtual void begins_event() {}
  // Sets the thread of the following events.
  virtual void set_thread(uint32_t thread) = 0;
  virtual void thread_start() = 0;
  virtual void thread_end() = 0;
  virtual void store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                     const void* frame) = 0;
  virtual void load(uint64_t addr, uint64_t size) = 0;
  virtual void rmw_begin(uint64_t addr, uint64_t size, const void* pc, const void* frame) = 0;
  virtual void rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) = 0;
  virtual void flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) = 0;
  virtual void fence(uint32_t kind, const void* pc, const void* frame) = 0;
  virtual void mark(const char* name) = 0;
  // The thread goes no further for now: records a mark with a stack.
  virtual void left(const char* how, const void* pc, const void* frame) {
    static_cast<void>(how), static_cast<void>(pc), static_cast<void>(frame);
  }
  // Operations as in powercut/mark.h. The value of an operation of kind 7 (maintain) is its command.
  virtual void operation_begins(uint32_t kind, std::span<const uint8_t> key, std::span<const uint8_t> value) = 0;
  virtual void operation_ends(uint32_t status, std::span<const uint8_t> value) = 0;

  // The process was forked; nothing of the child is recorded.
  virtual void forked() {}
  // Completes the recording; returns the problem, if there was one. `status` is the exit status as far as it is known.
  virtual std::optional<std::string> finish(int status) = 0;
  // Called in the child of a fork: lets go of everything and leaves the file to the parent.
  virtual void abandon() = 0;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_PROGRAM_TRACE_H_
