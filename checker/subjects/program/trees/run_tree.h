// The folder as one run sees it: a tree, and over it what the run has changed. It notes what the run could tell of the
// tree, and on request what the run has changed.
//
// Each member function answers one request of the kernel's. Failures are numbers of errno, and 0 is success.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_RUN_TREE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_RUN_TREE_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checker/subjects/program/trees/image_tree.h"
#include "checker/subjects/program/trees/own_bytes.h"
#include "replayer/media/files/effect.h"

namespace powercut {

class RunTree {
 public:
  // An inode that the run has met or made.
  struct Node {
    size_t index = 0;        // of the nodes of this run
    uint64_t inode = 0;      // its number
    ImageNode image;         // as the tree has it; of an inode of the run's own, as it was made
    bool own = false;        // made by the run
    Node* parent = nullptr;  // some folder with a name for it

    // The run's own changes.
    OwnBytes bytes;
    uint64_t cut = kNever;         // the tree's bytes from here on are gone
    std::optional<uint64_t> size;  // since the run has set it
    uint64_t grown = 0;            // end of what the run has written, before it set the size
    int64_t more_links = 0;
    std::optional<uint32_t> mode;
    std::optional<uid_t> user;
    std::optional<gid_t> group;
    std::optional<timespec> accessed, written, changed;
    std::map<std::string, Node*, std::less<>> names;  // of a folder; null: the run has taken the name away

    // Facts of the tree that the run knows.
    FileRanges known;
    bool opened = false;  // to be read
    bool size_known = false, end_known = false, links_known = false, names_known = false;
    std::map<std::string, uint64_t, std::less<>> looked_up;  // 0: no such name

    InodeKind kind() const { return image.kind; }
    uint64_t size_now() const { return size ? *size : std::max(image.size, grown); }
    uint32_t mode_now() const { return mode.value_or(image.mode); }
    uint32_t links_now() const { return static_cast<uint32_t>(image.links + more_links); }
    // Whether the answer to a stat() would tell nothing that the run does not know.
    bool told() const;
  };
  struct Named {
    std::string name;
    uint64_t inode = 0;
    InodeKind kind{};
  };

  // `tree` outlives this object. The first inode that the run makes gets the number `first_new`.
  RunTree(const ImageTree& tree, bool keep_changes, uint64_t first_new);
  RunTree(const RunTree&) = delete;
  RunTree& operator=(const RunTree&) = delete;

  Node& root() { return nodes_.front(); }
  // Returns null for a number that no node has.
  Node* node(size_t index) { return index < nodes_.size() ? &nodes_[index] : nullptr; }
  size_t nodes() const { return nodes_.size(); }

  int look_up(Node& folder, std::string_view name, Node** found);
  std::vector<Named> list(Node& folder);
  // Notes that the run asks for what stat() tells.
  void ask(Node& node);
  // Notes that the run could tell the size of each file that it has opened: an access behind the end of a mapped file
  // has ended it.
  void ask_opened();
  // Returns at most `size` bytes. `by_page`: through a mapping, where an access behind the end fails.
  std::string read(Node& file, uint64_t offset, uint64_t size, bool by_page);
  // `appends`: at the end of the file, whatever the offset.
  void write(Node& file, uint64_t offset, std::span<const uint8_t> bytes, bool appends, files::Through through);
  void resize(Node& file, uint64_t size);
  // `mode`: of fallocate(2).
  int allocate(Node& file, uint64_t offset, uint64_t size, uint32_t mode);
  // An empty `name`: the inode has none.
  int make(Node& folder, std::string_view name, const ImageNode& what, Node** made);
  int link(Node& node, Node& folder, std::string_view name);
  int unlink(Node& folder, std::string_view name);
  int remove_folder(Node& folder, std::string_view name);
  // `flags`: of renameat2(2).
  int rename(Node& folder, std::string_view name, Node& to_folder, std::string_view to_name, uint32_t flags);
  void sync(Node& node, files::SyncKind kind);
  // Notes a change of mode, owner or times, which the caller has made.
  void attributes(Node& node);

  const std::vector<Observation>& observations() const { return observations_; }
  const std::vector<files::Effect>& changes() const { return changes_; }
  // Returns the folder as the run has left it, which keeps `run` and needs its tree.
  static std::unique_ptr<ImageTree> left(std::shared_ptr<RunTree> run);

 private:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
  friend class LeftTree;

  void tell(Observation observation) { observations_.push_back(std::move(observation)); }
  void tell_size(Node& file);
  void note(files::EffectKind kind, uint64_t inode, const std::function<void(files::Effect&)>& fill);
  Node& add(uint64_t inode, bool own, ImageNode image);
  Node& of_image(uint64_t inode, Node* parent);
  // Returns the node that a name leads to now; null: none. `bad`: it leads to an inode that cannot be used.
  Node* find(Node& folder, std::string_view name, bool* bad);
  void set_name(Node& folder, std::string_view name, Node* node);
  void touch(Node& node);
  void drop(Node& node);
  std::map<std::string, std::pair<uint64_t, InodeKind>> names_now(const Node& folder) const;
  std::string bytes_now(const Node& file, uint64_t offset, uint64_t size) const;

  const ImageTree& tree_;
  const bool keep_changes_;
  uint64_t next_new_;
  std::deque<Node> nodes_;
  std::unordered_map<uint64_t, Node*> by_inode_;
  std::vector<Observation> observations_;
  std::vector<files::Effect> changes_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_RUN_TREE_H_
