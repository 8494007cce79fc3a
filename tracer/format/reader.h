// Reads a trace (FORMAT.md) by mmap, one zstd frame in memory at a time; pages behind the reader are given back. open()
// checks magic, version, endianness and footer; next() checks every frame's checksum and every record's bounds. Any
// byte sequence is safe to open: hostile input ends in a TraceError, never in UB.
#ifndef POWERCUT_TRACER_FORMAT_READER_H_
#define POWERCUT_TRACER_FORMAT_READER_H_

#include <memory>
#include <optional>
#include <string>

#include "tracer/format/file_calls.h"
#include "tracer/format/trace.h"
#include "tracer/format/trace_rules.h"

namespace powercut {

class TraceReader {
 public:
  static std::unique_ptr<TraceReader> open(const std::string& path, TraceError* error);
  // Opens a trace that lies in memory (fuzzing, tests). `bytes` outlives the reader.
  static std::unique_ptr<TraceReader> open_bytes(std::span<const uint8_t> bytes, const std::string& name,
                                                 TraceError* error);
  ~TraceReader();

  const std::string& metadata() const;  // the JSON object given to the writer
  uint64_t total_events() const;        // those of next()
  uint64_t raw_bytes() const;           // of all records before compression, from the footer
  // From the next pass on, an event that breaks the rules ends the reader with an error. Call hold_to() before the
  // first next(). Whoever acts on addresses or sizes of a trace reads under rules (replayer/media/open_trace.h).
  void hold_to(TraceRules rules);
  // From the next pass on, `calls` turns each call on a file into events. Without read_through(), such a call ends the
  // reader with an error. Returns false if the trace cannot be read (then error() is set). Call read_through() before
  // the first next() and hold_to().
  bool read_through(std::unique_ptr<FileCalls> calls);
  // From the next pass on, next() yields calls on a tree (tree_calls.h), as they stand. Without take_tree_calls(), such
  // a call ends the reader with an error.
  void take_tree_calls();
  // Decodes the next event into `out`; returns false at the end or on an error (then error() is set).
  bool next(Event* out);
  const std::optional<TraceError>& error() const;
  // Starts again at the first event.
  void rewind();
  // The modules whose definitions the reader has passed; after the end, all modules.
  const std::vector<TraceModule>& modules() const;
  std::span<const Frame> stack(uint32_t id) const;  // empty for 0 or an unknown id

 private:
  TraceReader();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_READER_H_
