// Walks the stack of a stopped thread by the unwind tables of its modules (elfutils' libdw). No source line is looked
// up. Code without tables is walked by frame pointers, as far as these lead.
#ifndef POWERCUT_TRACER_CALLS_UNWINDER_H_
#define POWERCUT_TRACER_CALLS_UNWINDER_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tracer/calls/stack_words.h"

namespace powercut {

// A walk is a function of registers and of memory: with equal registers, equal words at these addresses mean an equal
// walk.
struct StackWalk {
  std::vector<uint64_t> counters;  // program counters, innermost first: all are addresses behind a call
  std::vector<StackWord> words;
};

// The modules of one address space.
class Unwinder {
 public:
  Unwinder();
  ~Unwinder();
  // `bias` is what loading added to the addresses in the file. Returns false if the file has no tables that can be
  // read.
  bool add(const std::string& file, uint64_t bias);
  // The walk ends at a program counter for which `goes_on` returns false; this counter is the last. The function does
  // not add modules.
  StackWalk walk(pid_t thread, const user_regs_struct& registers, const std::function<bool(uint64_t)>& goes_on);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_UNWINDER_H_
