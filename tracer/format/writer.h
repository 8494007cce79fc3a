// Writes a trace (FORMAT.md). No global state; one writer per file; not thread-safe.
// Compresses and writes on a thread of its own (frame_writer.h) with bounded memory: append() waits when the file is
// slower than the events. A child of fork() has no such thread: it must neither use nor destroy the writer.
#ifndef POWERCUT_TRACER_FORMAT_WRITER_H_
#define POWERCUT_TRACER_FORMAT_WRITER_H_

#include <memory>
#include <optional>
#include <string>

#include "tracer/format/trace.h"

namespace powercut {

class TraceWriter {
 public:
  // Creates `path` (through a temporary name, renamed by finish(), so that a broken run never leaves
  // half a trace under the name). `metadata` is one JSON object, stored as it is.
  static std::unique_ptr<TraceWriter> create(const std::string& path, const std::string& metadata, TraceError* error);
  ~TraceWriter();

  // Returns the index of the module, adding it when new.
  uint32_t module(const TraceModule& module);
  // Returns the id (> 0) of a stack, adding it when new.
  uint32_t stack(std::span<const Frame> frames);
  // Appends; `event.index` is ignored and assigned in order. A store of more than 4096 bytes becomes several
  // events that end at line boundaries; a store of no bytes becomes none. After a problem nothing is
  // appended any more and finish() reports it.
  void append(const Event& event);
  // Writes the footer and renames the file into place. After an error, nothing is left under `path`.
  std::optional<TraceError> finish();
  uint64_t events() const;

  // The temporary name that a writer of process `pid` uses for `path`: whoever watches a process that was
  // killed removes it.
  static std::string partial_path(const std::string& path, int pid);

 private:
  TraceWriter();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_WRITER_H_
