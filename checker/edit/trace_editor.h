// A trace with some of its flushes and fences left out, others added, and stores moved: what a run would have recorded
// had its code been another one.
//
// Idea: a suggested fix, or a flush that is left out, is judged by the explorer of any run. (Neal, Quinn and Kasikci,
// *Hippocrates*, ASPLOS 2021, repair programs from a trace of what is missing in it; here the trace itself is
// repaired.) The input is read twice: once to know the events that the edits name and those that a move passes, once to
// copy it; memory holds no more than these.
//
// Known inaccuracies: the operations still take the way of the recorded run, also where another thread would have
// seen a moved store earlier or later.
#ifndef POWERCUT_CHECKER_EDIT_TRACE_EDITOR_H_
#define POWERCUT_CHECKER_EDIT_TRACE_EDITOR_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "checker/edit/trace_edits.h"

namespace powercut {

struct EditedTrace {
  uint64_t events = 0, dropped = 0, inserted = 0, moved = 0;
};

// Writes the trace `in` with `edits` applied to `out`, which is not touched unless all of them make sense.
Result<EditedTrace> edit_trace(const std::string& in, const TraceEdits& edits, const std::string& out);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EDIT_TRACE_EDITOR_H_
