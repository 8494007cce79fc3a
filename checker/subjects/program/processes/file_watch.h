// Looks after the files beside the images that commands use. The watch notes when a command looks at a file that the
// recorded program has changed: the command's outcome then depends on more than the image. Before a command changes a
// file, the watch saves it, to be put back later.
//
// A command that writes a file whatever was in it, or only adds to its end, does not depend on the file. A file written
// in this way is the command's own, for the image at hand.
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
  // `work`: the folder of the images and of whatever powercut itself makes. `saved`: the folder for copies of files
  // that commands change, if the files belong to `data` or to the recorded program. A thread looks at the commands'
  // calls.
  FileWatch(const std::vector<OtherFile>& changed, DataFolders data, const std::string& work, const std::string& saved);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // The calls that the watch has to be told of.
  powercut_told_calls told() const { return changed_.empty() ? kPowercutToldChanges : kPowercutToldAll; }

  // An image in the place of a pool, each in its folder, where names beside the image are those beside the pool.
  struct Image {
    std::string image, pool;
  };
  // Commands that work on the same images, one after the other.
  using Place = size_t;
  Place add_place(std::vector<Image> images);
  // Commands find `tree`, and what is below it, served to each run anew: nothing there is the user's.
  Place add_tree(const std::string& tree);
  // Forgets the files that the commands of the place have written.
  void begin(Place place);
  // Takes a listener over (call_filter.h).
  void listen(int listener, Place place);
  // Notes that a command could not be watched.
  void unwatched(const std::string& why);

  // Files that the recorded program has changed and some command has looked at. If a command has listed names, the
  // entry is "the names in" their folder.
  std::vector<std::string> met() const;
  // Changed files that commands have added to, without looking at them.
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
  std::map<Place, std::string> trees_;
  std::vector<std::set<std::string>> own_;  // of a place
  std::set<std::string> met_, added_, troubles_;
  std::map<int, Place> listeners_;  // by descriptor
  int wake_ = -1, events_ = -1;
  std::thread thread_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_FILE_WATCH_H_
