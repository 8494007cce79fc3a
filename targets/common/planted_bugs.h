// The hooks of planted bugs. A hook is one line beside the step that the bug breaks, so that the algorithm around it
// reads as in its paper. `Has(bug)` is the table's: whether its options name the bug.
//
//   SKIP_IF(Bug::kUndoLogUnordered) pmem::persist(log);   the bug leaves this step out, or does it elsewhere
//   DO_IF(Bug::kFreeEarly) allocator_.Free(old);          the bug does this: too early, too late, or as well
//
// A step that a bug moves has both hooks. Where a bug changes a value, an expression asks Has(bug) itself.
#ifndef POWERCUT_TARGETS_COMMON_PLANTED_BUGS_H_
#define POWERCUT_TARGETS_COMMON_PLANTED_BUGS_H_

// The compiler refuses an `else` behind one of these that might belong to an `if` around it (-Wdangling-else).
#define SKIP_IF(bug) if (!Has(bug))
#define DO_IF(bug) if (Has(bug))

#endif  // POWERCUT_TARGETS_COMMON_PLANTED_BUGS_H_
