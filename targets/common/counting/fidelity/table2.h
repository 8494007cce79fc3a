// Table 2 of the paper, "Block and Page level Operations on Wiki", beside a simulation of it.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_TABLE2_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_TABLE2_H_

#include "targets/common/counting/options.h"
#include "targets/common/figures.h"

namespace powercut::counting::fidelity {

// The rows of one scheme.
void Table2(Scheme scheme, powercut::fidelity::Figures* figures);

}  // namespace powercut::counting::fidelity
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_TABLE2_H_
