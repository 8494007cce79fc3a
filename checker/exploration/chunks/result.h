// The result of an exploration in chunks.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_RESULT_H_

#include "checker/exploration/chunks/workers.h"
#include "checker/exploration/result.h"

namespace powercut {

ExplorationResult result_of(const LoadedTrace& loaded, const ExploreOptions& options, const Explored& explored,
                            double seconds);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_RESULT_H_
