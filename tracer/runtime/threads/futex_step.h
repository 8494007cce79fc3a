// A futex(2) call under a scheduler (wait_calls.cc), for syscall(2) of kernel_calls.cc. Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_FUTEX_STEP_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_FUTEX_STEP_H_

#include <array>

#include "tracer/runtime/hooks/call_site.h"

namespace powercut::runtime {

// `arguments`: the arguments behind the number of the call. Answers as syscall(2) does.
long futex_step(const std::array<long, 6>& arguments, const CallSite& site);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_FUTEX_STEP_H_
