// Turns the stacks of a log into stacks of a trace. In a log stacks are text ("0x4011a6: main (a.c:9)"); in a trace
// they are offsets in modules. The text becomes a module of its own, "pmemcheck:main (a.c:9)", and the address becomes
// the offset. Nothing is lost, the trace needs no second file, and whoever symbolises a stack finds the text in the
// module's name.
#ifndef POWERCUT_TRACER_PMEMCHECK_FRAMES_H_
#define POWERCUT_TRACER_PMEMCHECK_FRAMES_H_

#include <absl/container/flat_hash_map.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/format/writer.h"

namespace powercut::pmemcheck {

inline constexpr std::string_view kFrameModule = "pmemcheck:";

// Returns the frames in one field of a log: several where functions were inlined. An address of 0 stands for no
// address.
std::vector<std::pair<uint64_t, std::string_view>> frames_in(std::string_view field);

// Returns the text of a frame of an imported trace, as the log had it; the name and offset for a frame of another
// module.
std::string frame_text(const std::string& module, uint64_t offset);

// Returns text that fits a field of a log: free of characters that would end the field or, for pmreorder, start the log
// anew.
std::string field_text(std::string text);

// Gives stacks of a log their ids in a trace.
class StackTable {
 public:
  explicit StackTable(TraceWriter* writer) : writer_(writer) {}
  uint32_t id_of(const std::vector<std::string>& fields);
  // Returns how many frames have lost their text, because there were more texts than a trace has modules.
  uint64_t unnamed() const { return unnamed_; }

 private:
  uint32_t module_of(std::string_view text);

  TraceWriter* writer_;
  absl::flat_hash_map<std::string, uint32_t> stacks_, modules_;
  uint64_t unnamed_ = 0;
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_FRAMES_H_
