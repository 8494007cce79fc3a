// Accesses of the closed area (followed_pools.h) that no hook announced: by the C library, by libraries that were not
// built with `powercut cc`, by inline assembly. Each faults. Its page is opened, the instruction runs alone, and the
// page is closed again.
//
// What it accesses its operands tell (decode.h). Where they do not, it counts as the whole page, which stays open. So
// does a page that is accessed again and again; one of which every byte was accessed stays open at no loss. Without
// the decoder an instruction of one operand counts as the line's worth of bytes from where it faulted, since none
// accesses more. So the log may have bytes that were not read, and never lacks one that was.
#ifndef POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
#define POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_

#include <cstdint>

#include "tracer/runtime/reads/read_log.h"

namespace powercut::runtime {

// Before main: takes the signals of faults and single steps, and loads the decoder.
void see_unannounced(powercut_read_log* log);

// Whether the instruction accesses memory in one piece of at most 64 bytes, apart from a stack.
bool accesses_one_piece(const uint8_t* instruction);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_READS_UNANNOUNCED_H_
