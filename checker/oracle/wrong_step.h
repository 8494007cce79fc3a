// The fault of a step of a probe, as the end of a sentence about its key: ", erased after recovery, is still there".
#ifndef POWERCUT_CHECKER_ORACLE_WRONG_STEP_H_
#define POWERCUT_CHECKER_ORACLE_WRONG_STEP_H_

#include <string>

#include "targets/include/powercut/target.h"

namespace powercut {

// The probe's last operation on the key, before the step that is wrong.
enum class LastStep { kNothing, kNeverInserted, kInserted, kUpdated, kErased };

// `step`: l(ookup), u(pdate), e(rase) or i(nsert), which ended with `status`; `present`: whether the key should be
// there. A lookup with the status OK of a key that should be there found another value.
std::string wrong_step(char step, powercut_status status, bool present, LastStep last);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_WRONG_STEP_H_
