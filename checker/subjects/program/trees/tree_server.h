// Serves the folder of a run over FUSE: the commands find an ImageTree in the place of the user's folder, and change
// what they like. The next run finds nothing of that.
//
// One thread answers the kernel's requests. The kernel caches no page of a file beyond what programs have mapped, and
// reads nothing ahead, so each request for bytes is the program's. It may keep names and what stat() tells, since the
// first question alone is an observation. Every run meets inodes of its own, and names in the folder itself, the one
// inode that stays, are taken back before each run.
//
// Known inaccuracies:
//   - A program can map a file, ask neither for its size nor for a page that is there, and handle the signal SIGBUS.
//   The
//     signal then tells it that the file ends before some page, and no observation does. A run that ends by the signal
//     has asked for the sizes of the files that it has opened.
//   - Calls that would tell more than a request does are refused (forkserver/refused_calls.c), to 64-bit programs
//   alone.
//     A lock's range that is told from the end of a file is no observation.
//   - sync(), syncfs() and sync_file_range() do not come to the server. They are missing in changes(), where msync() is
//     a sync of the data of the whole file.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_SERVER_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_SERVER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/processes/tree_mount.h"
#include "checker/subjects/program/trees/fuse_requests.h"
#include "checker/subjects/program/trees/run_tree.h"

namespace powercut {

class TreeServer {
 public:
  // Begins to serve in the place of `folder`, on one processor (-1: on any), where the commands are to run as well.
  static Result<std::unique_ptr<TreeServer>> create(const std::string& folder, int processor);
  // Precondition: no process runs where the folder is served.
  ~TreeServer();
  TreeServer(const TreeServer&) = delete;
  TreeServer& operator=(const TreeServer&) = delete;

  struct Asked {
    bool keep_changes = false;
    uint64_t first_new = 1ULL << 32;  // number of the first inode that the run makes; the tree has none from here on
    bool elsewhere = false;           // other inode numbers, times and order of names than other runs have
  };
  // Begins a run, which finds the tree. The tree outlives the run and left(). Precondition: no run is at hand.
  void begin(const ImageTree& tree, const Asked& asked);
  // Notes that the run at hand was ended by an access behind the end of a mapped file, of which no request tells.
  void ended_behind_a_file();
  // Return the run's observations and, with keep_changes, its changes so far, each in order.
  std::vector<Observation> observations() const;
  std::vector<files::Effect> changes() const;
  // Returns the folder as the run at hand has left it. Precondition: the run has ended.
  std::unique_ptr<ImageTree> left() const;

  // Where commands have to run to find the tree.
  TreeMount& mount() { return *mount_; }

 private:
  explicit TreeServer(std::unique_ptr<TreeMount> mount);
  void serve(int processor);
  // Makes the kernel forget the attributes of the folder itself, and the names there that the last run has met.
  void take_back_names();

  std::unique_ptr<TreeMount> mount_;
  mutable std::mutex mutex_;  // of all below; nobody waits for the kernel with it
  FuseRequests requests_;
  int wake_ = -1;  // an event, for the end
  std::thread thread_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_SERVER_H_
