// Runs the engine without address-space randomisation, so that every address a target sees is the same
// in every run.
#ifndef POWERCUT_CHECKER_NATIVE_NO_ASLR_H_
#define POWERCUT_CHECKER_NATIVE_NO_ASLR_H_

namespace powercut {

// Starts this program again with the same arguments and fixed addresses; returns at once when they are
// fixed already. Call it before any output. False: the system forbids it (some containers do); addresses
// then differ between runs, which stderr was told, and results that depend on them may differ as well.
bool fix_addresses();

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_NO_ASLR_H_
