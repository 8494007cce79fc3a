// Room recording: a program that records itself, into a trace of one pool or into a stream of its pool files.
//
// This file: the one session of the process, for the functions in front of the C library's (calls/).
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_

#include <functional>

namespace powercut::runtime {

class StreamTrace;

// Returns whether this process records the events of pool files.
bool watches_pools();
// Returns whether a recorded file is a block device. The device is then the only pool.
bool watches_device();
// Calls `action` with the stream, under the session's lock. Not to be called from inside the recorder itself.
void with_stream(const std::function<void(StreamTrace&)>& action);
// From now on the stream's end will have the status that exit() is called with.
void note_exit_status();
// Completes the recording: the process ends without destructors.
void end_at_once(int status);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_SESSION_H_
