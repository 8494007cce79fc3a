// The binaries loaded in this process, to turn addresses into (module, offset) frames like a trace's.
#ifndef POWERCUT_REPLAYER_EXECUTOR_PROCESS_MODULES_H_
#define POWERCUT_REPLAYER_EXECUTOR_PROCESS_MODULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/executor/executor.h"
#include "tracer/format/trace.h"

namespace powercut {

struct ProcessModule {
  TraceModule module;  // absolute path, build id in hex
  uint64_t bias = 0;   // address - offset in the file image
  std::vector<MemoryRange> segments;
  std::vector<MemoryRange> writable;
  MemoryRange thread_local_data;  // range of this thread; empty if the module has none
};

// Returns the loaded modules, and makes the thread-local data of every module exist. The dynamic linker allocates
// thread-local data at its first use, and an allocation inside an execution would be undone with the execution.
std::vector<ProcessModule> process_modules();
const ProcessModule* module_at(const std::vector<ProcessModule>& modules, const std::string& path);

// Returns the ranges that the target may store to outside the pool, its heap and its stack. They are: data and
// thread-local data of the target's library and of the libraries that came with it (modules not in `before`); memory
// that these libraries allocated while they were loaded; the C++ library's data, which its headers store to; and errno.
// With `whole_pages`, ranges that share a page with memory of the engine are left out.
std::vector<MemoryRange> target_globals(const std::vector<ProcessModule>& before,
                                        const std::vector<ProcessModule>& loaded, const ProcessModule& own,
                                        bool whole_pages = false);

// Assigns module numbers of a trace, starting from the trace's own table.
class FrameResolver {
 public:
  FrameResolver(std::vector<TraceModule> known, std::vector<ProcessModule> loaded)
      : modules_(std::move(known)), loaded_(std::move(loaded)) {}
  // `stack`: return addresses, innermost first; each resolves to the call before it.
  std::vector<Frame> resolve(const std::vector<uint64_t>& stack);
  const std::vector<TraceModule>& modules() const { return modules_; }

 private:
  std::vector<TraceModule> modules_;
  std::vector<ProcessModule> loaded_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_PROCESS_MODULES_H_
