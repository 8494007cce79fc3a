#include "engine/folder_options.h"

#include "base/command_line.h"
#include "base/user_file.h"
#include "checker/subjects/program/loaded_program.h"

namespace powercut {

void add_folder_options(CommandLine* command, FolderOptions* options) {
  add_recovery_options(command, &options->program);
  command->add_option("--folder", options->folder, "The recorded folder, an absolute path")->required();
  command->add_option("--continue", options->program.continuation,
                      "The work of a second life behind recovery, which is cut as well: a JSON list of words");
  command->add_option("--sector", options->sector, "Bytes that the disk below the folder writes as one")
      ->one_of({"512", "4096"});
  command->add_option("--profiles", options->profiles, "JSON: the switches of each profile by its name")->required();
}

files::Units units_of(const FolderOptions& options) { return {.sector = std::stoull(options.sector)}; }

Result<std::vector<TreeProfile>> read_profiles(const std::string& file) {
  const auto wrong = [&](const std::string& what) {
    return usage_error(what, file, "Give {name: {switch: value}} as JSON.");
  };
  const Result<std::string> text = read_user_file(file, "Name a file that exists and may be read.");
  if (!text) return text.error();
  // In the order of the file.
  const auto profiles = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (!profiles.is_object() || profiles.empty()) return wrong("the profiles cannot be read");
  std::vector<TreeProfile> out;
  try {
    for (const auto& [name, switches] : profiles.items()) {
      out.push_back({name, files::switches_of(JsonField(Json(switches), name))});
    }
  } catch (const Malformed& malformed) {
    return wrong(malformed.at + ": " + malformed.what);
  }
  return out;
}

}  // namespace powercut
