// Accesses of the closed area (followed_pools.h) that no hook announced: by the C library, by libraries that were not
// built with `powercut cc`, by inline assembly. Each faults. Its page is opened, the instruction runs alone, and the
// page is closed again.
//
// What an instruction of one operand accesses is taken to be the line's worth of bytes from where it faulted, since
// none accesses more; of others, and where a page is accessed again and again, the whole page. A store counts as a
// read. So the log may have bytes that were not read, and never lacks one that was.
#ifndef POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
#define POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_

#include <cstdint>

#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

// Takes the signals of faults and single steps.
void see_unannounced(powercut_read_log* log);

// Whether the instruction accesses memory in one piece of at most 64 bytes, apart from a stack.
bool accesses_one_piece(const uint8_t* instruction);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
