// Names of the code that a runtime makes, as the runtime writes them for perf: Node does so with --perf-basic-prof.
#ifndef POWERCUT_TRACER_CALLS_PERF_MAP_H_
#define POWERCUT_TRACER_CALLS_PERF_MAP_H_

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>

namespace powercut {

// A function of a script, "save (/app/store.js:12)", from its name in a map, "JS:*save /app/store.js:12:14". Empty for
// other code: that of the runtime itself, and that of its libraries.
std::string script_function(std::string_view name);

class PerfMap {
 public:
  // A map that was written before `since` is one of an earlier process.
  PerfMap(pid_t process, std::time_t since) : path_("/tmp/perf-" + std::to_string(process) + ".map"), since_(since) {}
  // Returns the function of a script that has its code at the address; empty if none has.
  const std::string& function_at(uint64_t address);

 private:
  struct Code {
    uint64_t end;
    std::string function;
  };
  const std::string* find(uint64_t address) const;
  // Returns false if the file has not grown.
  bool read_on();
  void take(std::string_view line);

  std::string path_;
  std::time_t since_;
  int64_t read_ = 0;     // bytes of the file
  uint32_t absent_ = 0;  // times that there was no file
  std::map<uint64_t, Code> codes_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_PERF_MAP_H_
