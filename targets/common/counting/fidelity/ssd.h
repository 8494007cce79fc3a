// Figures 5, 7, 8 and 10 to 12 of the paper, and its table without a buffer: what the tables cost an SSD.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SSD_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SSD_H_

#include "targets/common/counting/options.h"
#include "targets/common/figures.h"

namespace powercut::counting::fidelity {

// Adds the rows of one scheme. The rows that compare schemes are MDB-L's.
void OnAnSsd(Scheme scheme, powercut::fidelity::Figures* figures);

}  // namespace powercut::counting::fidelity
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SSD_H_
