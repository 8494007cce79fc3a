// The functions of instrumented modules that store to memory that may be persistent, and which of these functions were
// reached (tracer/llvm/store_functions.h): the pass's side and the listener's side.
//
// The marks lie in memory that is shared with forked processes, so that a process sees the marks of its children. With
// POWERCUT_REACHED=FOLDER the marks lie in files of that folder, one file a module. All processes of a recording and
// its recovery share the files. A file begins with the number of functions on a line. A line for each function follows
// (name, file and line with tabs between), then a byte for each function.
#ifndef POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_
#define POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Emitted by the pass, once a module, from a constructor. `lines` are the files' lines of functions (above). `*marks`
// becomes the address of `count` bytes, one for each function; the module sets a function's byte to 1 when the function
// is reached.
void __powercut_store_functions(const char* lines, uint32_t count, uint8_t** marks);

// For the listener: calls `told` for each function of each module, in the order of their registration. A function of a
// header may be told several times; the function was reached if any of these calls says so.
void powercut_store_functions(void* self, void (*told)(void* self, const char* line, uint32_t size, int reached));

// For a forked process: from now on the process has a copy of the marks for itself. A worker whose chunk may not count
// leaves no mark with the other processes.
void powercut_own_store_marks(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_STORE_FUNCTIONS_H_
