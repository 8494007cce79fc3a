// The legal trees of a disk at one crash point, taken apart: where each name may lead, and what each file may hold.
//
// Names that are not settled belong to parts (choices.h), which choose their alternatives by themselves. A path is
// resolved to the inode that it leads to in each alternative of one part.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_TREE_WORLD_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_TREE_WORLD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/media/files/file_answers.h"
#include "replayer/media/files/views.h"

namespace powercut::files {

using PathId = uint32_t;
inline constexpr PathId kRootPath = 0;

// Paths by number, below the folder whose path is kRootPath.
class Paths {
 public:
  PathId of(PathId folder, std::string_view name);
  PathId folder(PathId path) const { return paths_[path - 1].first; }
  const std::string& name(PathId path) const { return paths_[path - 1].second; }
  std::string text(PathId path) const;  // "a/b"; "" is the root

 private:
  std::deque<std::pair<PathId, std::string>> paths_;
  absl::flat_hash_map<std::pair<PathId, std::string>, PathId> numbers_;
};

// An inode that a name leads to; none if the number is 0. A bad folder never reached the disk.
struct Where {
  uint64_t inode = 0;
  bool bad = false;
  auto operator<=>(const Where&) const = default;
};

// A legal tree, by its choices.
struct ChosenTree {
  std::vector<uint32_t> alternatives;      // of each part
  std::map<uint64_t, FileContents> files;  // all with a choice, by inode
  bool operator==(const ChosenTree&) const = default;
};

class TreeWorld {
 public:
  // `disk` and `paths` outlive this, and the disk does not change.
  TreeWorld(const Disk& disk, Paths* paths, uint64_t most_effort);

  // False if finding the alternatives, or one question, took more effort than was allowed. Nothing else may be asked
  // then.
  bool known() const { return !effort_.exceeded() && !disk_.too_large(); }
  const Disk& disk() const { return disk_; }
  Paths& paths() const { return *paths_; }
  Effort* effort() { return &effort_; }

  static constexpr uint32_t kSettled = UINT32_MAX;
  // Where a path leads: in each alternative of a part, or, with kSettled, in all trees.
  struct Resolved {
    uint32_t part = kSettled;
    std::vector<Where> by;  // by alternative; one element with kSettled
  };
  const Resolved& resolve(PathId path);

  size_t parts() const { return choices_.parts().size(); }
  size_t alternatives(uint32_t part) const { return choices_.parts()[part].alternatives.size(); }
  // Returns the alternatives in which each file has legal contents. A size may need a version of a sector that a
  // missing operation keeps away.
  const std::vector<uint32_t>& possible(uint32_t part) const { return possible_[part]; }
  // Returns some alternatives of a part, those first that have lost least.
  std::vector<uint32_t> newest_first(std::vector<uint32_t> some) const;
  // Returns what a file may hold in an alternative of its part.
  const FileView* view(uint64_t inode, uint32_t part, uint32_t alternative);
  // Returns what a file may hold in these alternatives of all parts.
  const FileView* view(uint64_t inode, const std::vector<uint32_t>& alternatives);
  const OnDisk& on_disk(uint32_t part, uint32_t alternative) const;
  // Returns the part on which the contents of an inode depend; kSettled if there is none.
  uint32_t part_of(uint64_t inode) const;
  // Whether several paths may lead to the inode: by several names, or by those of a folder above.
  bool may_be_linked(uint64_t inode);

  // Where a name in a folder leads, with the alternatives of `tree`.
  Where at(const std::vector<uint32_t>& alternatives, uint64_t folder, std::string_view name) const;
  // Calls `use` with each name that may be in a folder: the part that decides where it leads, or kSettled.
  template <typename Use>
  void each_name(uint64_t folder, const Use& use) const {
    const auto& entries = disk_.entries();
    for (auto entry = entries.lower_bound({folder, ""}); entry != entries.end(); ++entry) {
      if (entry->first.folder != folder) return;
      const Owned* const owned = owner(folder, entry->first.name);
      if (owned != nullptr) {
        use(entry->first.name, owned->part, owned->by);
      } else if (entry->second.base != 0) {
        use(entry->first.name, kSettled, std::vector<Where>{{entry->second.base}});
      }
    }
  }
  // Where a path leads on a tree.
  Where at(const ChosenTree& tree, PathId path);
  // Returns the names on a path that leads to the inode on a tree, the last one first; nothing if there is no path.
  std::optional<std::vector<std::string_view>> names_to(const ChosenTree& tree, uint64_t inode) const;
  // Returns the size of a file on a tree.
  uint64_t size(const ChosenTree& tree, uint64_t inode) const;
  // Returns the content of a sector on a tree, whatever the file's size.
  ContentId content(const ChosenTree& tree, uint64_t inode, uint64_t sector) const;
  // Returns the number of names that lead to an inode.
  uint32_t links(const std::vector<uint32_t>& alternatives, uint64_t inode) const;

 private:
  struct Owned {
    uint32_t part = 0;
    std::vector<Where> by;
  };
  const Owned* owner(uint64_t folder, std::string_view name) const;
  void own(uint32_t part);
  std::vector<uint32_t> possible_of(uint32_t part);
  Resolved resolved(PathId path);

  const Disk& disk_;
  Paths* const paths_;
  Effort effort_;
  Choices choices_;
  Views views_;
  std::vector<std::vector<uint32_t>> possible_;  // by part
  absl::flat_hash_map<std::pair<uint64_t, std::string>, Owned> owned_;
  absl::flat_hash_map<uint64_t, uint32_t> part_of_;  // inodes
  std::map<PathId, Resolved> resolved_;
  absl::flat_hash_map<uint64_t, bool> may_be_linked_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_TREE_WORLD_H_
