// A pass over the trace with the model alone: how many crash points and crash states there are, and the
// hygiene of flushes and fences.
#ifndef POWERCUT_CHECKER_NATIVE_SURVEY_H_
#define POWERCUT_CHECKER_NATIVE_SURVEY_H_

#include <vector>

#include "checker/native/exploration.h"

namespace powercut {

// One site's useless flushes or fences, or its stores when none of them became durable. A site is an instruction,
// whatever called it.
struct HygieneRow {
  std::string kind;  // redundant-flush, redundant-fence, never-persisted
  uint64_t count = 0;
  uint32_t stack = 0;              // of the first
  uint64_t offset = 0, event = 0;  // of the first
};

struct Survey {
  uint64_t crash_points = 0;
  BigInt crash_states = 0;
  std::vector<HygieneRow> hygiene;
  std::vector<uint64_t> written_lines;  // ascending
};

Result<Survey> survey(const Session& session, const ExploreOptions& options);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_SURVEY_H_
