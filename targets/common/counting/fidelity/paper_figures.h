// The figures of the paper beside those of the schemes here.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_PAPER_FIGURES_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_PAPER_FIGURES_H_

#include "targets/common/counting/options.h"
#include "targets/common/figures.h"

namespace powercut::counting::fidelity {

// Figures 5, 7, 8 and 10 to 12, and the table without a buffer: what the tables cost an SSD. Adds the rows of one
// scheme. The rows that compare schemes are MDB-L's.
void OnAnSsd(Scheme scheme, powercut::fidelity::Figures* figures);

// Table 2, "Block and Page level Operations on Wiki", beside a simulation of it. Adds the rows of one scheme.
void Table2(Scheme scheme, powercut::fidelity::Figures* figures);

}  // namespace powercut::counting::fidelity
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_PAPER_FIGURES_H_
