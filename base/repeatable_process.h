// Makes a process of the engine repeatable: what a target can see of it besides its input is the same in every run.
#ifndef POWERCUT_BASE_REPEATABLE_PROCESS_H_
#define POWERCUT_BASE_REPEATABLE_PROCESS_H_

namespace powercut {

// Starts this program again with the same arguments where need be, so that
//   - addresses are not randomised;
//   - no symbol is bound at its first call. The dynamic linker would save vector registers on the stack meanwhile.
//     Their contents depend on when the process was scheduled, and a target's uninitialised padding would show them.
// Call it before any output. False: the system forbids fixed addresses (some containers do); they then differ
// between runs, which stderr was told, and results that depend on them may differ as well.
bool make_repeatable();

}  // namespace powercut
#endif  // POWERCUT_BASE_REPEATABLE_PROCESS_H_
