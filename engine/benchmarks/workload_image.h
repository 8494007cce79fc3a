// The pool as a plan's workload leaves it, in a file.
#ifndef POWERCUT_ENGINE_BENCHMARKS_WORKLOAD_IMAGE_H_
#define POWERCUT_ENGINE_BENCHMARKS_WORKLOAD_IMAGE_H_

#include <optional>
#include <string>

#include "base/supervisor.h"
#include "tracer/record/plan.h"

namespace powercut {

// Runs the workload on `library`, which is not instrumented, and writes the pool to `image`.
std::optional<EngineError> make_image(const Plan& plan, const std::string& library, const std::string& image,
                                      Progress& progress);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_BENCHMARKS_WORKLOAD_IMAGE_H_
