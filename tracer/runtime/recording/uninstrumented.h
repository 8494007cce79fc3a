// The code of this process that the compiler pass has not seen, as a text for people.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_UNINSTRUMENTED_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_UNINSTRUMENTED_H_

#include <string>

namespace powercut::runtime {

// Returns a text such as "not built with 'powercut cc': libarena.so; called by code that was: arena_alloc"; empty when
// no such code is known. Libraries of the system are left out.
std::string uninstrumented_code();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_UNINSTRUMENTED_H_
