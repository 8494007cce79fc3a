// Writes call stacks, and the modules that their addresses lie in, to the stream, each once. For a tracer that is told
// which modules its program has loaded. C++11 without exceptions or RTTI, as a Pin kit asks.
#ifndef POWERCUT_TRACER_STREAM_MODULE_STACKS_H_
#define POWERCUT_TRACER_STREAM_MODULE_STACKS_H_

#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "tracer/stream/stream.h"

namespace powercut {

class ModuleStacks {
 public:
  explicit ModuleStacks(powercut_stream* stream) : stream_(stream) {}

  // `end` is one past the last byte. `bias` is what loading added to the addresses in the file.
  void load(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias);
  void unload(uint64_t begin, uint64_t end);

  // Returns the number of a stack of return addresses, innermost first; 0 if no frame lies in a module. Frames outside
  // of modules (made by a compiler at run time, for example) are left out.
  uint32_t number(const uint64_t* addresses, uint32_t count);

 private:
  struct Range {
    uint64_t end, bias;
    uint32_t module;
  };

  powercut_stream* const stream_;
  std::map<std::string, uint32_t> modules_;  // by path: a library that is loaded again keeps its number
  std::map<uint64_t, Range> ranges_;         // by begin
  // Invariant: all stacks were made with the present ranges, so equal addresses are equal stacks.
  std::map<std::vector<uint64_t>, uint32_t> known_;
  uint32_t stacks_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_MODULE_STACKS_H_
