// Reads a stream (STREAM.md) record by record. Checks each record first: lengths, numbers of pools, modules and stacks.
#ifndef POWERCUT_TRACER_STREAM_STREAM_READER_H_
#define POWERCUT_TRACER_STREAM_STREAM_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"
#include "tracer/stream/stream.h"

namespace powercut {

// One record. The type says which fields are set. Views are valid as long as the reader.
struct StreamRecord {
  powercut_record type{};
  uint8_t code = 0;
  uint16_t flags = 0;
  powercut_site site{};
  uint32_t pool = 0;
  uint64_t address = 0;  // or the offset in a pool's file
  uint64_t length = 0;   // or a size
  uint64_t offset = 0;   // of a mapping
  std::span<const uint8_t> key, bytes;
  std::string_view text;
  std::vector<Frame> frames;  // of a stack
};

class StreamReader {
 public:
  static std::unique_ptr<StreamReader> open(const std::string& path, TraceError* error);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  // Reads the next record. Returns false at the end, at a last record that is cut short (cut_short()), or on an error.
  bool next(StreamRecord* record);
  const std::optional<TraceError>& error() const { return error_; }
  bool cut_short() const { return cut_short_; }

 private:
  StreamReader(std::string path, const uint8_t* data, size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  bool damaged(const std::string& what);
  bool parse(uint8_t type, std::span<const uint8_t> payload, StreamRecord* record);
  // Checks that the numbers in a record refer to earlier definitions, and counts definitions. Returns the fault, or
  // null.
  const char* wrong(const StreamRecord& record);

  const std::string path_;
  const uint8_t* const data_;
  const size_t size_;
  size_t at_ = kPowercutStreamHeader;
  uint32_t pools_ = 0, modules_ = 0, stacks_ = 0;
  bool cut_short_ = false;
  std::optional<TraceError> error_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_STREAM_READER_H_
