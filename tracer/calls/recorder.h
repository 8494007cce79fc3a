// Records what a command does to the files below a folder, with all processes and threads that it starts.
//
// The command runs under ptrace and a filter of calls (filter.h). A call on the folder runs alone: other threads that
// come to such a call wait at its entry, so the order of the records is the order of the effects. Threads run freely
// otherwise. Recorder and program share one processor, which halves the cost of a stop. Short writes and syncs of files
// are made by the recorder, on the thread's own open file: the thread then stops once and not twice. If the recorder
// dies, the kernel kills the program.
#ifndef POWERCUT_TRACER_CALLS_RECORDER_H_
#define POWERCUT_TRACER_CALLS_RECORDER_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracer/calls/printed.h"

namespace powercut {

struct RecordedCommand {
  std::vector<std::string> command;  // the program, found as the shell finds it, and its arguments
  std::string folder;                // absolute
  std::string trace;                 // to write
  std::string marks;                 // the file to make for the program's marks; empty: none is made
  std::string stores;       // the file to make for stores that a tracer of instructions tells; empty: none does
  size_t tracer_words = 0;  // of the command, which start the tracer of instructions
  std::string output;       // a folder for what the command prints; empty: the command prints by itself
  // A socket that is told, in eight bytes, how many calls were recorded: before each call, and at the end. A byte from
  // its other end lets the call begin. -1: there is none.
  int steps = -1;
};

struct Recorded {
  int status = 0;                   // of the command, as waitpid() tells it
  std::vector<std::string> missed;  // sentences that say what was missed; they are notes of the trace as well
  uint64_t events = 0;
  std::vector<std::string> elsewhere;  // files outside of the folder with the most writes, at most three
  uint64_t elsewhere_count = 0;        // files outside that were written to
  bool touched = false;                // the folder was changed or synced
  std::vector<PrintedSoFar> printed;   // with a folder for the output
};

// Blocks until the command and all that it started have ended.
Result<Recorded> record_command(const RecordedCommand& command);

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_RECORDER_H_
