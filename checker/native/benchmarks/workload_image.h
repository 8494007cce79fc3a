// The pool as a plan's workload leaves it, in a file.
#ifndef POWERCUT_CHECKER_NATIVE_BENCHMARKS_WORKLOAD_IMAGE_H_
#define POWERCUT_CHECKER_NATIVE_BENCHMARKS_WORKLOAD_IMAGE_H_

#include <optional>
#include <string>

#include "checker/native/plan.h"
#include "checker/native/supervisor.h"

namespace powercut {

// Runs the workload on `library`, which is not instrumented, and writes the pool to `image`.
std::optional<EngineError> make_image(const Plan& plan, const std::string& library, const std::string& image,
                                      Progress& progress);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_BENCHMARKS_WORKLOAD_IMAGE_H_
