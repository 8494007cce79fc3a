// The program's errno stays as it is while the runtime does something of its own.
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_KEEP_ERRNO_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_KEEP_ERRNO_H_

#include <cerrno>

namespace powercut::runtime {

class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = value_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int value_ = errno;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_KEEP_ERRNO_H_
