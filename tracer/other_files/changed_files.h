// Which files a recorded program has changed beside its pools, from all of its calls.
#ifndef POWERCUT_TRACER_OTHER_FILES_CHANGED_FILES_H_
#define POWERCUT_TRACER_OTHER_FILES_CHANGED_FILES_H_

#include <sys/stat.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracer/other_files/file_call.h"

namespace powercut {

// Whether the path lies in a folder of the list, or is such a folder.
bool is_below(const std::string& path, const std::vector<std::string>& folders);

class ChangedFiles {
 public:
  struct File {
    std::string path;
    bool named = false;  // the name came or went, for a time at least: lists of its folder may tell
  };

  // `spared`: files, and folders with all that is in them, of which nothing is told.
  explicit ChangedFiles(std::vector<std::string> spared);
  // Whether a use counts: no pipe, terminal, socket or device, and nothing that is spared.
  bool counts(const FileUse& use) const;
  // Before the call is made.
  void take(const FileCall& call);
  // When all processes have ended. A file that was opened for writing and has stayed as it was is none of them.
  std::vector<File> files() const;
  // By what files were used without being seen.
  const std::set<std::string>& unseen() const { return unseen_; }

 private:
  struct Opened {
    struct stat status{};
    timespec when{};
  };
  std::vector<std::string> spared_;
  std::map<std::string, bool> changed_;   // named
  std::map<std::string, Opened> opened_;  // perhaps
  std::set<std::string> unseen_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_OTHER_FILES_CHANGED_FILES_H_
