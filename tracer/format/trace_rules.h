// The rules for events of a trace beyond their bytes (FORMAT.md, "What a reader may rely on"): places lie within the
// pool, operations begin before they end, keys and values have the size that the target was set up for.
//
// The reader holds every event to the rules before anybody sees the event. Models, timelines and the pool of crash
// images take an event's address as it is.
#ifndef POWERCUT_TRACER_FORMAT_TRACE_RULES_H_
#define POWERCUT_TRACER_FORMAT_TRACE_RULES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracer/format/size_range.h"
#include "tracer/format/trace.h"

namespace powercut {

// The sizes that a target was configured with.
struct RecordSizes {
  SizeRange key, value;
};

class TraceRules {
 public:
  // More than any machine maps; `space` is at most this.
  static constexpr uint64_t kMostSpace = uint64_t{1} << 44;

  // `space`: bytes from the pool's start that addresses may lie in. With `sizes` the trace is one of a target: its
  // operations are the recorder's own, one at a time in each thread.
  explicit TraceRules(uint64_t space, std::optional<RecordSizes> sizes = std::nullopt) : space_(space), sizes_(sizes) {}

  // Call start() before the first event.
  void start() {
    running_.clear();
    path_.reset();
  }
  // Returns the rule that the next event breaks, as the end of a sentence: "stores to ... "; nothing if it breaks none.
  std::optional<std::string> wrong(const Event& event);

 private:
  std::optional<std::string> wrong_alone(const Event& event);
  std::optional<std::string> wrong_operation(const Event& event);
  std::optional<std::string> wrong_in_tree(const Event& event);
  std::optional<std::string> outside(const Event& event, const char* what, uint64_t size) const;

  uint64_t space_;
  std::optional<RecordSizes> sizes_;
  std::map<uint32_t, OpKind> running_;  // by thread
  // In a tree of schedules: what ran at its root, and the events of the schedule at hand.
  struct Step {
    EventKind kind;
    uint32_t thread;
    uint8_t code;
  };
  std::map<uint32_t, OpKind> at_root_;
  std::optional<std::vector<Step>> path_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_TRACE_RULES_H_
