// Operations of a program that marks none. A line of its output acknowledges all work since the acknowledgement before
// it, which is one operation (STREAM.md, "Acknowledgements").
#ifndef POWERCUT_TRACER_STREAM_ACKNOWLEDGEMENTS_H_
#define POWERCUT_TRACER_STREAM_ACKNOWLEDGEMENTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace powercut {

struct Acknowledgement {
  uint8_t output = 0;  // powercut_stream_output
  uint64_t end = 0;    // bytes of the output up to the end of its line
  std::string text;
};

// The size of an output at one record of the stream.
struct StreamOutput {
  uint8_t output = 0;
  uint64_t size = 0;
};

// Acknowledgements that left the program between two records, or behind the last one. Nobody knows the stores that the
// program made between them.
struct AcknowledgedTogether {
  size_t record = 0;  // the output record, from 0; their number, of those behind the last one
  std::vector<std::string> texts;
};

// `lines`: of each output in order. `outputs`: the stream's records.
std::vector<AcknowledgedTogether> acknowledged_together(std::span<const Acknowledgement> lines,
                                                        std::span<const StreamOutput> outputs);

class AcknowledgedOperations {
 public:
  struct Sink {
    std::function<void(const std::string& text)> begin;
    std::function<void()> end;
  };
  // `at_once`: the first operation begins with the first store. Otherwise the stores before the first acknowledgement
  // also make the file. Nobody can say what a power cut may leave of a file that is being made.
  AcknowledgedOperations(std::vector<AcknowledgedTogether> groups, bool at_once, Sink sink)
      : groups_(std::move(groups)), waits_(at_once), sink_(std::move(sink)) {}

  // The program stores: the next operation begins if none runs.
  void stores() {
    if (waits_) begin();
  }
  // Takes the next output record.
  void output_grown();
  // The stream has ended: the rest of each output, beyond its last record, has left.
  void finish();

 private:
  void begin();
  void acknowledge();

  std::vector<AcknowledgedTogether> groups_;
  bool waits_;         // for the first store of the operations of the next group
  bool runs_ = false;  // they have begun
  size_t next_ = 0, records_ = 0;
  Sink sink_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_ACKNOWLEDGEMENTS_H_
