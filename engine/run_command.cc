#include "engine/run_command.h"

#include <malloc.h>

#include <exception>

#include "base/descendants.h"
#include "base/engine_version.h"
#include "base/event_stream.h"

namespace powercut {

int run_command(int argc, const char* const* argv, std::span<const AddCommand> commands) {
  CommandLine app("Records and explores the crash states of persistent-memory programs.", "powercut-engine");
  app.set_version_flag("--version", engine_version());
  app.require_subcommand(1);
  int exit_code = 0;
  for (const AddCommand add : commands) add(app, exit_code);

  // Memory that one crash point needs the next one needs as well: not to the system and back.
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // Nothing of a command is left when the command ends, whatever code it ran.
  keep_descendants();
  end_descendants_on_signals();
  end_with_the_caller();
  const struct Sweep {
    ~Sweep() { end_descendants(); }
  } sweep;
  try {
    if (const auto ended = app.parse(argc, argv)) {
      if (ended->wrong.empty()) return ended->exit_code;
      // People read stderr, Python reads the event stream: both learn it.
      EventStream events = EventStream::standard_output();
      return events.error(usage_error(ended->wrong, "powercut-engine",
                                      "Run 'powercut-engine --help' for the commands and their options."));
    }
  } catch (const std::exception& broken) {
    EventStream events = EventStream::standard_output();
    return events.error(harness_error(std::string("internal error: ") + broken.what(), "powercut-engine",
                                      "This is a bug of powercut, not of the target: please report it."));
  }
  return exit_code;
}

}  // namespace powercut
