// A wrong answer of a library as a finding.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_

#include "checker/findings/finding.h"
#include "checker/oracle/oracle.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

// `frames` resolves the stacks of the exposure's execution.
Finding finding_of(const Exposure& exposure, const TraceFollower& follower, FrameResolver* frames);
// What went wrong in a schedule of threads, as a finding that needs no power cut.
Exposure exposure_of(const TraceFollower::FoundTrouble& trouble);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_FINDING_H_
