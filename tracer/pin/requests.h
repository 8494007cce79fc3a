// The requests of targets/include/powercut/mark.h, copied from the program and answered.
#ifndef POWERCUT_TRACER_PIN_REQUESTS_H_
#define POWERCUT_TRACER_PIN_REQUESTS_H_

#include <stdint.h>

#include "tracer/pin/pool_files.h"
#include "tracer/pin/recorder.h"

namespace powercut {
namespace pin {

// Returns whether the request at `arguments` in the program's memory is one of powercut's. Other requests go on
// unanswered, as without any tool. The function is cheap, and takes no lock.
bool is_mark(const Host& host, uint64_t arguments);

// Answers a request; returns the value of rdx after it. Precondition: is_mark().
uint64_t answer_mark(Recorder& recorder, PoolFiles& pools, uint32_t thread, uint64_t arguments, const Frames& frames);

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_REQUESTS_H_
