// Runs of the commands on one image, as the event `imaged` tells them.
#ifndef POWERCUT_ENGINE_IMAGE_RUNS_H_
#define POWERCUT_ENGINE_IMAGE_RUNS_H_

#include <vector>

#include "base/event_stream.h"
#include "checker/subjects/program/workers/program_steps.h"

namespace powercut {

// Returns {"runs": […], "same": whether all came to the same}. Runs that differ are told up to the first step that
// differs. Precondition: there is a run.
Json runs_json(std::vector<ProgramOutcome> outcomes, bool ordered);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_IMAGE_RUNS_H_
