// Which functions of the instrumented modules store to memory that may be persistent, and which of these stores were
// reached: the pass's side and the listener's.
//
// The marks lie in memory that is shared with forked processes, so that a child's are seen by who has forked it. With
// POWERCUT_REACHED=FOLDER they lie in files there, one a module, which all processes of a recording and its recovery
// share: the number of functions on a line, a line for each (name, file and line with tabs between), a byte for each.
#ifndef POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_
#define POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Emitted by the pass, once a module, from a constructor. `lines` are those above; `*marks` becomes the address of
// `count` bytes, one for each, which the module sets to 1.
void __powercut_store_functions(const char* lines, uint32_t count, uint8_t** marks);

// For the listener: calls `told` for each function of each module, in the order of their registration. A function of a
// header may be told several times; it was reached if any of them was.
void powercut_store_functions(void* self, void (*told)(void* self, const char* line, uint32_t size, int reached));

// For a forked process: from now on its marks are its own, and begin as they are. A worker whose chunk may not count
// leaves no mark with the others.
void powercut_own_store_marks(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_
