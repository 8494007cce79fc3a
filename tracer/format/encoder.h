// Encodes records into the payload of one frame. The compression context (last address, last thread, numbered byte
// strings) starts afresh in every frame. A frame therefore decodes without the frames before it, apart from the
// definitions of stacks and modules.
#ifndef POWERCUT_TRACER_FORMAT_ENCODER_H_
#define POWERCUT_TRACER_FORMAT_ENCODER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut {

class RecordEncoder {
 public:
  RecordEncoder();

  // Forgets the context: the next record begins a frame, whose payload goes to `payload`.
  // Precondition of every record: kMaxRecord bytes are left in `payload`.
  void start_frame(uint8_t* payload);
  size_t size() const { return static_cast<size_t>(at_ - payload_); }
  uint32_t records() const { return records_; }

  void module(const TraceModule& module);
  void stack(std::span<const Frame> frames);
  // Precondition: `event` is within the limits of layout.h; a store is not longer than kMaxStoreBytes.
  void event(const Event& event);

 private:
  // A direct-mapped slot for a hash. Losing an entry to a collision costs bytes, never correctness.
  struct Shared {
    uint32_t frame = 0, number = 0, offset = 0, size = 0;
  };

  void tree_call(const Event& event);
  void file_call(const Event& event);
  void head(uint8_t type, uint8_t bits, const Event& event);
  void address(uint64_t addr);
  void bytes(std::span<const uint8_t> value);
  void text(std::string_view value);
  // Returns the number of an earlier byte string of this frame with the same content, or -1.
  int64_t find_shared(std::span<const uint8_t> value);
  void literal(std::span<const uint8_t> value);
  void put(uint8_t byte) { *at_++ = byte; }
  void put(std::span<const uint8_t> bytes);

  uint8_t* payload_ = nullptr;
  uint8_t* at_ = nullptr;  // where the next byte of the payload goes
  uint32_t records_ = 0;
  uint32_t thread_ = 0;
  uint32_t stack_ = 0;
  uint64_t addr_ = 0;
  uint32_t frame_ = 0;   // numbers frames, so that slots of earlier ones read as empty
  uint32_t shared_ = 0;  // byte strings numbered so far in this frame
  std::vector<Shared> slots_;
  Shared* miss_ = nullptr;  // the slot that the last failed find_shared() looked at
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_ENCODER_H_
