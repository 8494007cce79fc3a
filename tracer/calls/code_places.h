// Stacks as a trace has them: an address of a process is a module and an offset in the module's file image. Source
// lines are looked up later, by whoever shows them.
//
// Known inaccuracies: a library in the place of another one that was unloaded is taken for the former. Code that a
// runtime makes has no module: its frames are functions of scripts, if the runtime names them (perf_map.h), or left
// out.
#ifndef POWERCUT_TRACER_CALLS_CODE_PLACES_H_
#define POWERCUT_TRACER_CALLS_CODE_PLACES_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/calls/perf_map.h"
#include "tracer/calls/stack_words.h"
#include "tracer/calls/unwinder.h"
#include "tracer/format/writer.h"

namespace powercut {

class CodePlaces {
 public:
  explicit CodePlaces(TraceWriter& trace) : trace_(trace) {}
  // Returns the stack of a thread that stands at a system call; 0 if none of its code lies in a file.
  // `counter` and `stack_pointer` are those of the thread: to ask for all registers costs more than a known stack does.
  uint32_t stack(pid_t process, pid_t thread, uint64_t counter, uint64_t stack_pointer);
  // Returns the stack of these program counters, innermost first.
  uint32_t stack_of(pid_t process, std::span<const uint64_t> counters);
  // The process runs another program from now on, or has ended.
  void forget(pid_t process) {
    processes_.erase(process);
    perf_maps_.erase(process);
  }

 private:
  struct Mapping {
    uint64_t end = 0, offset = 0;
    std::string path;   // empty: memory in which a runtime makes code
    uint64_t bias = 0;  // what loading added to the addresses in the file
    uint32_t module = 0;
    bool added = false;  // to the unwinder, as far as that is possible
    bool operator==(const Mapping& other) const {
      return end == other.end && offset == other.offset && path == other.path;
    }
  };
  using Mappings = std::map<uint64_t, Mapping>;  // of code, by their begin
  struct Place {
    uint64_t counter, stack, frame;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    size_t operator()(const Place& place) const {
      return (place.counter * 31 + place.stack) * 0x9e3779b97f4a7c15 ^ place.frame;
    }
  };
  struct Known {
    StackWords words;  // by which the walk is the same
    uint32_t stack = 0;
  };
  // An address space, which processes share until one of them loads code.
  struct Space {
    Mappings mappings;
    Unwinder unwinder;
    std::unordered_map<Place, std::vector<Known>, PlaceHash> known;
  };
  using Shared = std::shared_ptr<Space>;

  Shared& space_of(pid_t process);
  // Looks for code that was loaded since. Returns whether there is some.
  bool read_again(pid_t process);
  static Mappings mappings_of(pid_t process);
  static Mapping* mapping_at(Space& space, uint64_t address);
  void add(Mapping& mapping, uint64_t begin, Space& space);
  uint32_t placed(pid_t process, std::span<const uint64_t> counters);
  StackWalk walk(pid_t process, pid_t thread, const user_regs_struct& registers);

  TraceWriter& trace_;
  std::unordered_map<pid_t, Shared> processes_;
  std::unordered_map<pid_t, PerfMap> perf_maps_;
  const std::time_t begun_ = std::time(nullptr);
  std::map<std::string, uint32_t> modules_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_CODE_PLACES_H_
