// Accesses of the closed area (followed_pools.h) that no hook announced: by the C library, by libraries that were not
// built with `powercut cc`, by inline assembly. Each such access faults. The page is opened, the instruction runs
// alone, and the page is closed again.
//
// The instruction's operands tell which bytes it accesses (decode.h). If the operands cannot tell, the whole page
// counts as accessed, and the page stays open. A page that is accessed again and again stays open as well. A page of
// which every byte was accessed stays open at no loss. The log may therefore have bytes that were not read, and never
// lacks a byte that was read.
#ifndef POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
#define POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_

#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

// Called before main: takes the signals of faults and of single steps, and loads the decoder. Returns false if there is
// no decoder.
bool see_unannounced(powercut_read_log* log);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
