// Files as they were before something changed them, so that they can be put back: copies in a folder, and a journal
// that is written ahead of each change. Who puts them back may be another process, after the first one was killed.
//
// Not put back: owners and attributes; what a descriptor changes that was open before; names of sockets and pipes.
#ifndef POWERCUT_TRACER_OTHER_FILES_SAVED_FILES_H_
#define POWERCUT_TRACER_OTHER_FILES_SAVED_FILES_H_

#include <sys/stat.h>

#include <set>
#include <string>

namespace powercut {

class SavedFiles {
 public:
  // Into a folder of its own, which is made with the first file. It stays when this object ends.
  explicit SavedFiles(std::string folder) : folder_(std::move(folder)) {}
  ~SavedFiles();
  SavedFiles(const SavedFiles&) = delete;
  SavedFiles& operator=(const SavedFiles&) = delete;

  // Saves the file under this name, which will be put back, unless the name was saved before. `tree`: with all below
  // it. False where it cannot be saved, with errno: the file must not be changed then.
  bool save(const std::string& path, bool tree);

  // Puts back what the folder has, and removes the folder. Harmless where there is none. True: all is as it was.
  static bool put_back(const std::string& folder);

 private:
  bool keep(const std::string& path, const struct stat& status);
  bool write(const std::string& kind, const std::string& path, const struct stat& status, const std::string& text);

  const std::string folder_;
  int journal_ = -1;
  uint64_t copies_ = 0;
  std::set<std::string> saved_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_OTHER_FILES_SAVED_FILES_H_
