#include "tracer/stream/acknowledgements.h"

#include <map>

#include "tracer/stream/stream.h"

namespace powercut {
namespace {

// The text of the last operation: the recording holds no acknowledgement of it.
constexpr const char* kUnanswered = "not acknowledged";

}  // namespace

std::vector<AcknowledgedTogether> acknowledged_together(std::span<const Acknowledgement> lines,
                                                        std::span<const StreamOutput> outputs) {
  std::vector<AcknowledgedTogether> out;
  std::map<uint8_t, size_t> next;  // line of an output
  // A line that is not whole at a record leaves after the record.
  const auto leave = [&](size_t record, uint8_t output, uint64_t size) {
    for (size_t& i = next[output]; i < lines.size() && (lines[i].output != output || lines[i].end <= size); ++i) {
      if (lines[i].output != output) continue;
      if (out.empty() || out.back().record != record) out.push_back({record, {}});
      out.back().texts.push_back(lines[i].text);
    }
  };
  for (size_t i = 0; i < outputs.size(); ++i) leave(i, outputs[i].output, outputs[i].size);
  for (const uint8_t output : {kPowercutStdout, kPowercutStderr}) leave(outputs.size(), output, UINT64_MAX);
  return out;
}

void AcknowledgedOperations::begin() {
  waits_ = false;
  runs_ = true;
  if (next_ == groups_.size()) return sink_.begin(kUnanswered);
  // Acknowledgements that left together may all be under way at any instant until then: none is alone.
  for (const std::string& text : groups_[next_].texts) sink_.begin(text);
}

void AcknowledgedOperations::acknowledge() {
  if (!runs_) begin();
  for (size_t i = 0; i < groups_[next_].texts.size(); ++i) sink_.end();
  ++next_;
  runs_ = false;
  waits_ = true;
}

void AcknowledgedOperations::output_grown() {
  if (next_ < groups_.size() && groups_[next_].record == records_) acknowledge();
  ++records_;
}

void AcknowledgedOperations::finish() {
  if (next_ < groups_.size()) acknowledge();
}

}  // namespace powercut
