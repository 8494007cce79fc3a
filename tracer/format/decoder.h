// Decodes the payload of one frame, record by record. Trusts nothing: every length, number and code
// is checked before use, so any payload ends in events or in a message, never in undefined behaviour.
#ifndef POWERCUT_TRACER_FORMAT_DECODER_H_
#define POWERCUT_TRACER_FORMAT_DECODER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut {

// The stacks and modules that a trace defined, in order. They survive a rewind: a definition that is read again is
// skipped.
class Definitions {
 public:
  const std::vector<TraceModule>& modules() const { return modules_; }
  std::span<const Frame> stack(uint32_t id) const;
  // The number of definitions that the current pass has read; an id up to this number may be used.
  uint64_t modules_read() const { return modules_read_; }
  uint64_t stacks_read() const { return stacks_read_; }
  void start_pass() { modules_read_ = stacks_read_ = 0; }

  // Returns false if the trace has more modules, stacks or frames than layout.h allows.
  bool add_module(std::string_view path, std::string_view build_id);
  bool add_stack(std::span<const Frame> frames);

 private:
  std::vector<TraceModule> modules_;
  std::vector<Frame> frames_;
  std::vector<uint64_t> ends_;  // of stack id i+1 in frames_
  uint64_t modules_read_ = 0, stacks_read_ = 0;
};

class RecordDecoder {
 public:
  explicit RecordDecoder(Definitions* definitions) : definitions_(*definitions) {}

  // `payload` outlives the use of the events' spans.
  void start_frame(std::span<const uint8_t> payload, uint64_t first_event);
  // Decodes the next event into `out`; returns false at the end of the payload or on an error.
  bool next(Event* out);
  // The error in the payload, or an empty text; offset() is the error's place in the payload.
  const std::string& problem() const { return problem_; }
  size_t offset() const { return at_; }
  uint64_t records() const { return records_; }
  uint64_t next_event() const { return next_event_; }

 private:
  bool fail(const char* problem);
  bool byte(uint8_t* out);
  bool varint(uint64_t* out);
  bool address(uint64_t* out);
  bool raw(size_t size, std::span<const uint8_t>* out);
  bool literal(size_t size, std::span<const uint8_t>* out);
  bool bytes(size_t max, std::span<const uint8_t>* out);
  bool text(size_t max, std::string_view* out);
  bool store(uint8_t form, Event* out);
  bool tree_call(Event* out);
  bool file_call(Event* out);
  bool event(uint8_t first, Event* out);
  bool define_module();
  bool define_stack();

  Definitions& definitions_;
  std::span<const uint8_t> payload_;
  size_t at_ = 0;
  uint64_t records_ = 0;
  uint64_t next_event_ = 0;
  uint32_t thread_ = 0, stack_ = 0;
  uint64_t addr_ = 0;
  // The last event, as far as the next one may continue it. Survives the end of a frame.
  EventKind last_kind_{};
  uint32_t last_thread_ = 0;
  std::vector<std::span<const uint8_t>> shared_;
  std::vector<Frame> frames_;
  std::string problem_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_DECODER_H_
