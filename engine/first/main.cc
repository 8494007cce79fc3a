// powercut-engine-first: the commands that a first finding takes, of the objects of powercut-engine. `make run` builds
// it before all else (tools/run.sh).
#include <string>
#include <string_view>
#include <vector>

#include "base/event_stream.h"
#include "engine/run_command.h"

namespace {

struct Command {
  std::string_view name;
  powercut::AddCommand add;
};

// The build links these alone (engine/CMakeLists.txt).
constexpr Command kCommands[] = {
    {"record", powercut::add_record_command},   {"describe", powercut::add_describe_command},
    {"dump", powercut::add_dump_command},       {"edit", powercut::add_edit_command},
    {"measure", powercut::add_measure_command}, {"export-pmemcheck", powercut::add_export_pmemcheck_command},
    {"explore", powercut::add_explore_command}, {"reproduce", powercut::add_reproduce_command},
    {"judge", powercut::add_judge_command},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view asked = argc > 1 ? argv[1] : "";
  bool known = asked.empty() || asked.front() == '-';
  std::vector<powercut::AddCommand> commands;
  for (const auto& [name, add] : kCommands) {
    commands.push_back(add);
    known = known || asked == name;
  }
  if (!known) {
    powercut::EventStream events = powercut::EventStream::standard_output();
    return events.error(powercut::usage_error(
        "the small engine of a first finding has no command '" + std::string(asked) + "'", "powercut-engine-first",
        "Run 'make build', which builds the whole engine, and unset POWERCUT_ENGINE."));
  }
  return powercut::run_command(argc, argv, commands);
}
