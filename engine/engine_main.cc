#include "engine/engine_main.h"

#include <malloc.h>

#include <exception>

#include "base/descendants.h"
#include "base/engine_version.h"
#include "base/event_stream.h"
#include "engine/commands.h"

namespace powercut {

int engine_main(int argc, const char* const* argv) {
  CommandLine app("Records and explores the crash states of persistent-memory programs.", "powercut-engine");
  app.set_version_flag("--version", engine_version());
  app.require_subcommand(1);
  int exit_code = 0;

  add_record_command(app, exit_code);
  add_drive_command(app, exit_code);
  add_convert_command(app, exit_code);
  add_record_schedules_command(app, exit_code);
  add_describe_command(app, exit_code);
  add_machine_command(app, exit_code);
  add_dump_command(app, exit_code);
  add_stats_command(app, exit_code);
  add_schedule_command(app, exit_code);
  add_edit_command(app, exit_code);
  add_measure_command(app, exit_code);
  add_import_pmemcheck_command(app, exit_code);
  add_export_pmemcheck_command(app, exit_code);

  // Exploring.
  add_explore_command(app, exit_code);
  add_program_command(app, exit_code);
  add_program_image_command(app, exit_code);
  add_program_judge_command(app, exit_code);
  add_reproduce_command(app, exit_code);
  add_judge_command(app, exit_code);
  add_model_command(app, exit_code);
  add_audit_command(app, exit_code);
  add_faults_command(app, exit_code);

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
