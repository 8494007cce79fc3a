// powercut-engine: the native half of powercut. Python starts it and reads its event stream
// (reports/EVENTS.md); people may run it by hand.
#include <exception>

#include "checker/native/commands.h"
#include "checker/native/event_stream.h"

int main(int argc, char** argv) {
  CLI::App app("Records and explores the crash states of persistent-memory programs.", "powercut-engine");
  app.set_version_flag("--version", POWERCUT_ENGINE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;

  powercut::add_record_command(app, exit_code);
  powercut::add_drive_command(app, exit_code);
  powercut::add_convert_command(app, exit_code);
  powercut::add_describe_command(app, exit_code);
  powercut::add_dump_command(app, exit_code);
  powercut::add_stats_command(app, exit_code);
  powercut::add_edit_command(app, exit_code);
  powercut::add_measure_command(app, exit_code);
  powercut::add_import_pmemcheck_command(app, exit_code);
  powercut::add_export_pmemcheck_command(app, exit_code);

  // Exploring.
  powercut::add_explore_command(app, exit_code);
  powercut::add_program_command(app, exit_code);
  powercut::add_program_image_command(app, exit_code);
  powercut::add_program_judge_command(app, exit_code);
  powercut::add_reproduce_command(app, exit_code);
  powercut::add_judge_command(app, exit_code);
  powercut::add_model_command(app, exit_code);
  powercut::add_audit_command(app, exit_code);
  powercut::add_faults_command(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& wrong) {
    // People read stderr, Python reads the event stream: both learn it.
    powercut::EventStream events = powercut::EventStream::standard_output();
    app.exit(wrong);
    return events.error(powercut::usage_error(wrong.what(), "powercut-engine",
                                              "Run 'powercut-engine --help' for the commands and their options."));
  } catch (const std::exception& broken) {
    powercut::EventStream events = powercut::EventStream::standard_output();
    return events.error(powercut::harness_error(std::string("internal error: ") + broken.what(), "powercut-engine",
                                                "This is a bug of powercut, not of the target: please report it."));
  }
  return exit_code;
}
