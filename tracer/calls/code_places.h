// Places of code as a trace has them: an address of a process as a module and an offset in the module's file image.
#ifndef POWERCUT_TRACER_CALLS_CODE_PLACES_H_
#define POWERCUT_TRACER_CALLS_CODE_PLACES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "tracer/format/writer.h"

namespace powercut {

class CodePlaces {
 public:
  explicit CodePlaces(TraceWriter& trace) : trace_(trace) {}
  // Returns the stack of the one frame; 0 if the address lies in no file.
  uint32_t stack(pid_t process, uint64_t address);
  // The process runs another program from now on, or has ended.
  void forget(pid_t process) { processes_.erase(process); }

 private:
  struct Mapping {
    uint64_t end, offset;
    std::string path;
  };
  struct Process {
    std::map<uint64_t, Mapping> mappings;  // by their begin
    std::unordered_map<uint64_t, uint32_t> stacks;
  };
  static void read(pid_t process, Process& out);

  TraceWriter& trace_;
  std::unordered_map<pid_t, Process> processes_;
  std::map<std::string, uint32_t> modules_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_CODE_PLACES_H_
