// Accesses of the closed area (followed_pools.h) that no hook announced: by the C library, by libraries that were not
// built with `powercut cc`, by inline assembly. Each faults. Its page is opened, the instruction runs alone, and the
// page is closed again.
//
// What it accesses its operands tell (decode.h). Where they do not, it counts as the whole page, which stays open. So
// does a page that is accessed again and again; one of which every byte was accessed stays open at no loss. So the log
// may have bytes that were not read, and never lacks one that was.
#ifndef POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
#define POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_

#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

// Before main: takes the signals of faults and single steps, and loads the decoder. False: there is none.
bool see_unannounced(powercut_read_log* log);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
