// The functions of the instrumented modules that store to memory that may be persistent. Says which functions were
// reached: by the recorded operations, or by a recovery or a query of the exploration.
#ifndef POWERCUT_CHECKER_EXPLORATION_REACHED_STORES_H_
#define POWERCUT_CHECKER_EXPLORATION_REACHED_STORES_H_

#include <cstdint>
#include <vector>

#include "base/event_stream.h"

namespace powercut {

// A bitmap of the functions that this process, and the processes that it has forked, have reached until now. The bits
// are in the order of registration, which is the same in every process that has loaded the same libraries.
std::vector<uint64_t> reached_stores();

// For a worker, once it is forked: its chunk's result alone tells which functions the worker reaches. A chunk that a
// budget leaves out must not show in the result, which is the same for any number of jobs.
void keep_reached_stores();

// The functions that neither this process nor `others` (a bitmap, or empty) has reached: {function, file, line} of each
// by file and line.
Json stores_never_reached(const std::vector<uint64_t>& others);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_REACHED_STORES_H_
