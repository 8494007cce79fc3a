// The engine's command line, apart from main() and from the list of commands.
#ifndef POWERCUT_ENGINE_RUN_COMMAND_H_
#define POWERCUT_ENGINE_RUN_COMMAND_H_

#include <span>

#include "engine/commands.h"

namespace powercut {

// Runs the command that the arguments name, one of `commands`, and returns its exit code, 0 to 3. Nothing that the
// command has started is left.
int run_command(int argc, const char* const* argv, std::span<const AddCommand> commands);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_RUN_COMMAND_H_
