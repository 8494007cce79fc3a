// A wrong answer of a library as a finding.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_

#include "checker/findings/finding.h"
#include "checker/oracle/oracle.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

// Returns the exposure as a finding. `frames` resolves the stacks of the exposure's execution.
Finding finding_of(const Exposure& exposure, const TraceFollower& follower, FrameResolver* frames);
// Returns the trouble that a schedule of threads ran into, as a finding that needs no power cut.
Exposure exposure_of(const TraceFollower::FoundTrouble& trouble);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_
