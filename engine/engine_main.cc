#include "engine/engine_main.h"

#include "engine/run_command.h"

namespace powercut {
namespace {

constexpr AddCommand kCommands[] = {
    add_record_command,
    add_drive_command,
    add_convert_command,
    add_record_schedules_command,
    add_describe_command,
    add_machine_command,
    add_dump_command,
    add_stats_command,
    add_schedule_command,
    add_edit_command,
    add_measure_command,
    add_import_pmemcheck_command,
    add_export_pmemcheck_command,
    // Exploring.
    add_explore_command,
    add_program_command,
    add_program_image_command,
    add_program_judge_command,
    add_reproduce_command,
    add_judge_command,
    add_model_command,
    add_files_command,
    add_files_image_command,
    add_trees_command,
    add_audit_command,
    add_faults_command,
};

}  // namespace

int engine_main(int argc, const char* const* argv) { return run_command(argc, argv, kCommands); }

}  // namespace powercut
