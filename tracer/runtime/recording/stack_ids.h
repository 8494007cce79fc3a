// Turns call sites into the numbers of their call stacks. A program has few distinct stacks and visits them millions of
// times, so only a new stack is walked to its end and defined.
//
// Libraries must not be unloaded meanwhile: stacks are cached by address.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_STACK_IDS_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_STACK_IDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace powercut {

class StackIds {
 public:
  // Returns the number of a stack that was not met before, from its return addresses, innermost first.
  using Define = std::function<uint32_t(std::span<const uint64_t>)>;
  explicit StackIds(Define define);
  ~StackIds();
  StackIds(const StackIds&) = delete;
  StackIds& operator=(const StackIds&) = delete;

  // Returns the number of the stack at a hook; `pc` and `frame` are as the hook has them (hooks.h).
  uint32_t find(const void* pc, const void* frame);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_STACK_IDS_H_
