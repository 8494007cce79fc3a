// Room recording: a program that records itself, into a trace of one pool or into a stream of its pool files.
//
// This file: the one session of the process, for the functions in front of the C library's (calls/).
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_

#include <functional>

namespace powercut::runtime {

class StreamTrace;

// Whether this process records what it does to pool files.
bool watches_pools();
// Whether one of them is a block device. Then it is the only one.
bool watches_device();
// Calls `action` with the stream, under the session's lock. Not from inside of the recorder itself.
void with_stream(const std::function<void(StreamTrace&)>& action);
// From now on the stream's end will have the status that exit() is called with.
void note_exit_status();
// Completes what is recorded: the process ends without destructors.
void end_at_once(int status);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_
