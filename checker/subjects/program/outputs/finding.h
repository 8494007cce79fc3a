// A wrong outcome of a program's commands as a finding.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_FINDING_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_FINDING_H_

#include <string>
#include <vector>

#include "checker/findings/finding.h"
#include "checker/subjects/program/outputs/judge.h"

namespace powercut {

// "recover: ./prog check": the step that showed the finding, as the field `query` of findings names the step.
std::string query_text(const ProgramStep& step, const ProgramCommands& commands);
// Whether the recorded program's output has acknowledged its operations, by the metadata of the trace.
bool is_acknowledged(const Json& metadata);
// Returns the violation as a finding. `acknowledged`: is_acknowledged(). `lines`: every pending line with the content
// that the finding needs. Without `needs_power_cut` no store is at fault: the outcome is the same with all stores
// durable once the operation has ended.
Finding finding_of(const ProgramViolation& violation, const ProgramOutcome& outcome,
                   const std::vector<Image::Line>& lines, const Operations& operations, const ProgramCommands& commands,
                   bool needs_power_cut, bool acknowledged);
// Returns the trouble of a schedule of the program's threads as a finding that needs no power cut.
Finding finding_of(const TraceFollower::FoundTrouble& trouble, const Operations& operations,
                   const TraceFollower& follower);
// "insert(k7)": a marked operation, by its begin.
std::string operation_name(const Event& begin);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_FINDING_H_
