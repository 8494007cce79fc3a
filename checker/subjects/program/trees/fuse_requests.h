// Requests of the kernel (linux/fuse.h) as calls on a RunTree, and the answers.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_FUSE_REQUESTS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_FUSE_REQUESTS_H_

#include <linux/fuse.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/subjects/program/trees/run_tree.h"

namespace powercut {

// Bytes of the largest request, and of the largest read or write in it.
inline constexpr size_t kFuseMost = 1 << 20;
inline constexpr size_t kFuseRoom = kFuseMost + (1 << 16);

class FuseRequests {
 public:
  // Begins a run on this tree. `elsewhere`: other numbers of inodes and other times.
  void begin(std::shared_ptr<RunTree> run, bool elsewhere);
  const std::shared_ptr<RunTree>& run() const { return run_; }
  // Returns the answer to a request, whole with its header; empty: the kernel waits for none.
  std::string_view answer(std::span<const char> request);
  // Returns names in the folder itself that the kernel may keep, and forgets them.
  std::set<std::string> take_names() { return std::exchange(names_, {}); }

 private:
  using Node = RunTree::Node;
  struct Request;
  struct Listing {
    std::vector<RunTree::Named> names;
    bool read = false;
  };

  int dispatch(const Request& request);
  int init(const Request& request);
  int look_up(const Request& request, Node& node);
  int attributes(Node& node);
  int set_attributes(const Request& request, Node& node);
  int make(const Request& request, Node& folder, InodeKind kind, uint32_t mode, std::string_view name,
           std::string_view target = {});
  int make_device(const Request& request, Node& folder);
  int create(const Request& request, Node& folder, bool nameless);
  int link(const Request& request, Node& folder);
  int take_away(const Request& request, Node& folder);
  int rename(const Request& request, Node& folder, bool flags);
  int open(const Request& request, Node& node);
  int read(const Request& request, Node& node);
  int write(const Request& request, Node& node);
  int allocate(const Request& request, Node& node);
  int sync(const Request& request, Node& node);
  int access(const Request& request, Node& node);
  int open_folder(const Request& request, Node& node);
  int list(const Request& request, Node& node);
  int close_folder(const Request& request);
  int describe_file_system();

  Node* node_of(uint64_t id);
  uint64_t id_of(const Node& node) const { return node.index == 0 ? FUSE_ROOT_ID : first_id_ + node.index; }
  uint64_t shown(uint64_t inode) const { return elsewhere_ ? inode + kOtherInodes : inode; }
  void fill(const Node& node, fuse_attr* out) const;
  void put_entry(Node& node);
  void met(const Node& folder, std::string_view name);
  template <typename T>
  void put(const T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  static constexpr uint64_t kOtherInodes = 1'000'003;

  std::shared_ptr<RunTree> run_;
  bool elsewhere_ = false;
  uint64_t first_id_ = FUSE_ROOT_ID;  // number of the run's root, by which the kernel never calls it
  std::map<uint64_t, Listing> listings_;
  uint64_t next_listing_ = 1;
  std::set<std::string> names_;
  std::string out_;  // the answer at hand
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_FUSE_REQUESTS_H_
