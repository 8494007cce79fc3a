// A FUSE file system over a folder, in a mount namespace of its own (forkserver/tree_mount.h): whoever reads the device
// answers for the file system.
//
// This object alone holds the namespace, and the processes that run in it. When both are gone, by whatever signal, the
// kernel ends the mount, and requests that wait fail.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_TREE_MOUNT_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_TREE_MOUNT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace powercut {

class TreeMount {
 public:
  // `folder`: an existing folder. Usage error where this user may make no such namespace.
  static Result<std::unique_ptr<TreeMount>> create(const std::string& folder);
  ~TreeMount();
  TreeMount(const TreeMount&) = delete;
  TreeMount& operator=(const TreeMount&) = delete;

  // The folder's path without links.
  const std::string& folder() const { return folder_; }
  // Descriptors, which stay this object's. users(): -1 where none is needed.
  int device() const { return device_; }
  int mounts() const { return mounts_; }
  int users() const { return users_; }
  // The processor on which commands run: -1 for any.
  void set_processor(int processor) { processor_ = processor; }
  int processor() const { return processor_; }
  // Requests so far: a program that was started and has looked at the folder is noticed by them.
  std::atomic<uint64_t>& requests() { return requests_; }

 private:
  TreeMount() = default;

  std::string folder_;
  int device_ = -1, mounts_ = -1, users_ = -1, processor_ = -1;
  std::atomic<uint64_t> requests_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_TREE_MOUNT_H_
