// Options of commands on a recorded folder.
#ifndef POWERCUT_ENGINE_FOLDER_OPTIONS_H_
#define POWERCUT_ENGINE_FOLDER_OPTIONS_H_

#include <string>
#include <vector>

#include "checker/exploration/trees/tree_explorer.h"
#include "checker/subjects/program/options.h"

namespace powercut {

class CommandLine;

struct FolderOptions {
  ProgramOptions program;
  std::string folder, profiles;
  std::string sector = "512";  // bytes
};

void add_folder_options(CommandLine* command, FolderOptions* options);
// Returns the units of the disk below the folder.
files::Units units_of(const FolderOptions& options);
// Reads the profiles, in the order of the file.
Result<std::vector<TreeProfile>> read_profiles(const std::string& file);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_FOLDER_OPTIONS_H_
