// A command of the user's (recovery, checker, dump): its words, the program behind the first one, and how it can be run
// thousands of times.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_COMMANDS_COMMAND_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_COMMANDS_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/images/trace_pools.h"

namespace powercut {

enum class ProgramKind {
  kForkable,  // dynamic, 64-bit: libpowercut_fork.so serves its runs from before main
  kPlain,     // started anew for each run
};

struct Command {
  std::vector<std::string> words;  // the user's words, the first word resolved to a file
  std::string given;               // the first word as the user wrote it
  std::string option;              // "--recover", for messages
  ProgramKind kind = ProgramKind::kForkable;
  std::string plain_because;  // of kPlain: "is statically linked"
  bool preloads = true;       // libpowercut_fork.so may be preloaded, so recorded paths lead to the images
  bool named = false;         // some word becomes the path of an image
  bool reports = false;       // the command's runs are to report their reads

  // The command as the user wrote it.
  std::string text() const;
  // The words for images at `images`: {image} and {image:N} anywhere in a word, and words that are a pool's path.
  std::vector<std::string> words_for(const TracePools& pools, const std::vector<std::string>& images) const;
};

// Reads a JSON list of words and looks at the program. Usage errors: `json` is no list of words, the program does not
// exist or cannot be run here, or an {image:N} has no pool. A program that cannot learn which file to open is one, too.
Result<Command> parse_command(const std::string& json, const std::string& option, const TracePools& pools);
// Reads a command that works on the folder `folder`, an absolute path: {image} anywhere in a word stands for it. The
// command runs where a crash image lies in the folder's place, so all other words stay. Usage errors: as above, or the
// program or a script among the words lies in the folder.
Result<Command> parse_folder_command(const std::string& json, const std::string& option, const std::string& folder);
// Returns how the program at `path` can be run; nothing when it cannot be run.
std::optional<Command> look_at_program(const std::string& path);

// How a command is run under a tracer that records its loads.
struct TracePrefix {
  std::vector<std::string> words;        // {stream} is the file to write; a word with {image} stands once for each pool
  std::vector<std::string> environment;  // "NAME=value"

  std::vector<std::string> words_for(const std::string& stream, const std::vector<std::string>& images) const;
};
// `json`: {"command": [word, …], "environment": {name: value, …}}.
Result<TracePrefix> parse_trace_prefix(const std::string& json, const std::string& option);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_COMMANDS_COMMAND_H_
