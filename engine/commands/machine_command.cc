// `powercut-engine machine`: what of this machine the results of an exploration could depend on, for --cluster: two
// that say the same of a target explore the same.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/event_stream.h"
#include "base/repeatable_process.h"
#include "engine/commands.h"
#include "replayer/executor/process_modules.h"
#include "tracer/record/target_library.h"

namespace powercut {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string in_hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%lx", number);
  return text;
}

int run_machine(const std::string& path, bool fixed) {
  EventStream events = EventStream::standard_output();
  events.hello("machine");
  const auto library = TargetLibrary::load(path);
  if (!library) return events.error(library.error());
  const std::vector<ProcessModule> loaded = process_modules();
  const ProcessModule* target = module_at(loaded, library->resolved_path());
  Json modules = Json::array();
  for (const ProcessModule& each : loaded) {
    // The kernel's own has no build id that says anything of what runs, but stands where its layout puts it.
    modules.push_back({{"name", file_name(each.module.path)},
                       {"build_id", each.module.path.find('/') == std::string::npos ? "" : each.module.build_id},
                       {"address", in_hex(each.bias)}});
  }
  events.emit({{"event", "machine"},
               {"engine", loaded.empty() ? "" : loaded[0].module.build_id},
               {"target", target == nullptr ? "" : target->module.build_id},
               {"modules", modules},
               {"page", sysconf(_SC_PAGESIZE)},
               {"fixed", fixed}});
  return events.end(kExitOk);
}

}  // namespace

void add_machine_command(CommandLine& app, int& exit_code) {
  auto* command = app.add_subcommand("machine", "Say what results could depend on here: builds and addresses.");
  auto library = std::make_shared<std::string>();
  command->add_option("--library", *library, "Shared library of the target")->required();
  command->callback([library, &exit_code] {
    const bool fixed = make_repeatable();
    exit_code = run_machine(*library, fixed);
  });
}

}  // namespace powercut
