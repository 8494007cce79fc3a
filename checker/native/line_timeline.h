// The recent events of each line, for the timeline of a finding: when it was dirty, flushed, durable.
#ifndef POWERCUT_CHECKER_NATIVE_LINE_TIMELINE_H_
#define POWERCUT_CHECKER_NATIVE_LINE_TIMELINE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tracer/format/trace.h"

namespace powercut {

class LineTimeline {
 public:
  struct Entry {
    uint64_t event;
    EventKind kind;
    uint8_t code;
    uint32_t size;
    uint32_t stack;
    const char* state;  // "dirty", "flushed" or "durable" after the event
  };
  void apply(const Event& event);
  // The last entries of a line, oldest first.
  const std::deque<Entry>& entries(uint64_t line) const;

 private:
  static constexpr size_t kKept = 32;
  void add(uint64_t line, const Event& event, uint64_t size, const char* state);

  absl::flat_hash_map<uint64_t, std::deque<Entry>> lines_;
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> unfenced_;  // thread -> lines its next fence makes durable
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_LINE_TIMELINE_H_
