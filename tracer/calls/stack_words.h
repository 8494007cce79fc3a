// The words of memory by which a walk of a stack is known again: as long as they stand, the stack is the same.
#ifndef POWERCUT_TRACER_CALLS_STACK_WORDS_H_
#define POWERCUT_TRACER_CALLS_STACK_WORDS_H_

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace powercut {

struct StackWord {
  uint64_t address = 0, value = 0;
  auto operator<=>(const StackWord&) const = default;
};

class StackWords {
 public:
  explicit StackWords(std::vector<StackWord> words);
  // Reads them in one system call, which the kernel makes page by page: words near each other are read together.
  bool stand_in(pid_t thread) const;

 private:
  struct Range {
    uint64_t begin, size;
  };
  std::vector<Range> ranges_;
  std::vector<std::pair<uint32_t, uint64_t>> words_;  // place in what is read, value
  uint64_t size_ = 0;                                 // of all ranges
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_STACK_WORDS_H_
