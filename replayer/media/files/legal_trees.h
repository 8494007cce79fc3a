// The legal trees of a disk: how many there are, and which. Two choices that leave one tree count once.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_LEGAL_TREES_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_LEGAL_TREES_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/media/files/choices.h"
#include "replayer/media/files/disk.h"
#include "replayer/media/files/readings.h"
#include "replayer/media/files/views.h"

namespace powercut::files {

struct ShownPath {
  std::string path;
  std::vector<Letter> letters;  // those of a file's sectors follow its first letter
};
using Tree = std::vector<ShownPath>;  // by path

class LegalTrees {
 public:
  // Counts are kept from one question to the next; `disk` outlives this.
  explicit LegalTrees(const Disk& disk) : disk_(disk), views_(disk) {}

  // Returns nothing if the count takes more than `most_effort` steps.
  std::optional<Count> count(uint64_t most_effort);
  // Calls `use` with each legal tree. Returns false if that takes more than `most_effort` steps.
  bool each(uint64_t most_effort, const std::function<void(const Tree&)>& use);

 private:
  // Alternatives of a part that have the same paths.
  struct Group {
    std::vector<std::string> paths;
    std::vector<std::vector<Shown>> shown;  // [alternative][path]
    std::vector<uint64_t> folders;          // those that hold parts
  };
  // Paths that lead to one inode in some alternative, or such paths of other alternatives: they are read side by side.
  struct Cluster {
    std::vector<size_t> paths;
    std::vector<std::vector<Shown>> shown;  // [alternative][path of the cluster]
  };
  std::vector<Group> groups_of(const ChoicePart& part, const Choices& choices);
  static std::vector<Cluster> clusters_of(const Group& group);
  Count count(const ChoicePart& part, const Choices& choices, const std::map<uint64_t, Count>& below);
  Count count(const Group& group);
  Count count_one(const Shown& shown);
  void each(const std::vector<Cluster>& clusters, size_t place, const Alternatives& alive, Tree* tree,
            const std::function<void(const Tree&)>& use);
  Shown shown(uint64_t inode, bool bad, const OnDisk& on_disk);

  struct KeptCount {
    uint64_t stamp = 0;
    Count count;
  };

  const Disk& disk_;
  Effort effort_;
  // These belong to the question at hand.
  Views views_;
  absl::flat_hash_map<const FileView*, Count> counts_;
  absl::flat_hash_map<uint64_t, KeptCount> kept_;  // of inodes apart
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_LEGAL_TREES_H_
