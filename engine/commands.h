// The subcommands of powercut-engine, one file each. A command registers itself with its options; when it
// was chosen it runs inside parse() and leaves the exit code in `exit_code`.
#ifndef POWERCUT_ENGINE_COMMANDS_H_
#define POWERCUT_ENGINE_COMMANDS_H_

#include <cstdint>
#include <memory>

#include "base/command_line.h"
#include "base/event_stream.h"
#include "base/repeatable_process.h"

namespace powercut {

// kFixed: the process restarts without address randomisation, so that results that depend on addresses repeat.
enum class Addresses : uint8_t { kAny, kFixed };

// Registers a command. `add_options` names its options, which live as long as the command line; `run` returns the exit
// code.
template <typename Options>
void add_command(CommandLine& app, int& exit_code, const char* name, const char* description,
                 void (*add_options)(CommandLine&, Options&), int (*run)(const Options&, EventStream&),
                 Addresses addresses = Addresses::kAny) {
  CommandLine* command = app.add_subcommand(name, description);
  const auto options = std::make_shared<Options>();
  add_options(*command, *options);
  command->callback([=, &exit_code] {
    // The restart comes before the stream, which takes standard output.
    if (addresses == Addresses::kFixed) make_repeatable();
    EventStream events = EventStream::standard_output();
    exit_code = run(*options, events);
  });
}

using AddCommand = void (*)(CommandLine& app, int& exit_code);

// Recording and looking at traces.
void add_record_command(CommandLine& app, int& exit_code);
void add_drive_command(CommandLine& app, int& exit_code);
void add_record_schedules_command(CommandLine& app, int& exit_code);
void add_convert_command(CommandLine& app, int& exit_code);
void add_describe_command(CommandLine& app, int& exit_code);
void add_machine_command(CommandLine& app, int& exit_code);
void add_dump_command(CommandLine& app, int& exit_code);
void add_stats_command(CommandLine& app, int& exit_code);
void add_schedule_command(CommandLine& app, int& exit_code);
void add_edit_command(CommandLine& app, int& exit_code);
void add_measure_command(CommandLine& app, int& exit_code);

// Logs of pmemcheck (tracer/pmemcheck).
void add_import_pmemcheck_command(CommandLine& app, int& exit_code);
void add_export_pmemcheck_command(CommandLine& app, int& exit_code);

// Exploring them.
void add_explore_command(CommandLine& app, int& exit_code);
void add_program_command(CommandLine& app, int& exit_code);
void add_program_image_command(CommandLine& app, int& exit_code);
void add_program_judge_command(CommandLine& app, int& exit_code);
void add_reproduce_command(CommandLine& app, int& exit_code);
void add_judge_command(CommandLine& app, int& exit_code);
void add_model_command(CommandLine& app, int& exit_code);
void add_files_command(CommandLine& app, int& exit_code);
void add_files_image_command(CommandLine& app, int& exit_code);
void add_trees_command(CommandLine& app, int& exit_code);
void add_faults_command(CommandLine& app, int& exit_code);

// Looking after a program that is recorded: they have their own arguments (watch_command.cc, record_files_command.cc,
// acknowledge_files_command.cc), and print nothing.
int record_files(int argc, char** argv);
int acknowledge_files(int argc, char** argv);
int watch(int argc, char** argv);
int put_back(int argc, char** argv);

// Holding the engine itself to the truth.
void add_audit_command(CommandLine& app, int& exit_code);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_COMMANDS_H_
