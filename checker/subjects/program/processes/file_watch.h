// Looks after the files beside the images that commands use: which of those that the recorded program has changed they
// look at, so that what they come to depends on more than the image; and what they change is saved first, to be put
// back.
//
// A command that writes a file whatever was in it, or only adds to its end, does not depend on it. What it has written
// so is its own, for the image at hand.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_FILE_WATCH_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_FILE_WATCH_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "checker/subjects/program/images/trace_pools.h"
#include "tracer/other_files/call_filter.h"
#include "tracer/other_files/data_folders.h"
#include "tracer/other_files/file_call.h"
#include "tracer/other_files/saved_files.h"

namespace powercut {

class FileWatch {
 public:
  // `work`: the folder of the images and of whatever powercut itself makes. `saved`: for files that commands change, of
  // those that `data` or the recorded program has. The commands' calls are looked at by a thread.
  FileWatch(const std::vector<OtherFile>& changed, DataFolders data, const std::string& work, const std::string& saved);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // The calls that it has to be told of.
  powercut_told_calls told() const { return changed_.empty() ? kPowercutToldChanges : kPowercutToldAll; }

  // An image in the place of a pool, each in its folder, where names beside the image are those beside the pool.
  struct Image {
    std::string image, pool;
  };
  // Commands that work on the same images, one after the other.
  using Place = size_t;
  Place add_place(std::vector<Image> images);
  // Forgets the files that the commands of the place have written.
  void begin(Place place);
  // Takes a listener over (call_filter.h).
  void listen(int listener, Place place);
  // A command could not be watched.
  void unwatched(const std::string& why);

  // Files that the recorded program has changed and some command has looked at; "the names in" a folder of which they
  // are.
  std::vector<std::string> met() const;
  // Changed files that commands have added to, and not looked at.
  std::vector<std::string> added() const;
  // Other reasons why runs cannot be judged, one sentence each.
  std::vector<std::string> troubles() const;
  bool clear() const;

 private:
  void work();
  bool take(const FileCall& call, Place place);
  bool use(const FileUse& use, Place place);
  void look(const FileUse& use, const std::string& path, Place place);
  bool has_changed(const std::string& path, bool lists) const;

  std::map<std::string, bool> changed_;  // whether the name came or went
  const std::string work_folder_;
  mutable std::mutex mutex_;
  SavedFiles saved_;
  DataFolders data_;
  std::vector<std::vector<Image>> places_;
  std::vector<std::set<std::string>> own_;  // of a place
  std::set<std::string> met_, added_, troubles_;
  std::map<int, Place> listeners_;  // by descriptor
  int wake_ = -1, events_ = -1;
  std::thread thread_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_FILE_WATCH_H_
