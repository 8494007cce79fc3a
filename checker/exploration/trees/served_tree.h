// A legal tree as a run of the commands finds it, and the questions that the run's observations are.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_SERVED_TREE_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_SERVED_TREE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checker/exploration/trees/read_tree.h"
#include "checker/subjects/program/trees/image_tree.h"

namespace powercut {

// Bits of the permissions that a path has; the folder that was recorded has them after the recording.
using ModeOf = std::function<uint32_t(const std::string& path, InodeKind kind)>;

class ServedTree final : public ImageTree {
 public:
  // `world` outlives this, and nobody asks it while this is in use.
  ServedTree(files::TreeWorld* world, files::ChosenTree tree, const ModeOf* mode);

  ImageNode node(uint64_t inode) const override;
  uint64_t look_up(uint64_t folder, std::string_view name) const override;
  std::vector<std::pair<std::string, uint64_t>> names(uint64_t folder) const override;
  void read(uint64_t inode, uint64_t offset, std::span<uint8_t> out) const override;

 private:
  std::string path(uint64_t inode) const;

  files::TreeWorld& world_;
  const files::Disk& disk_;
  const files::ChosenTree tree_;
  const ModeOf* mode_;
};

// Returns the questions that a run has asked of the tree, in order and each once, and their answers. A read that
// reaches behind the end of a file asks no further than for the sector in which the file ends.
std::vector<AskedQuestion> questions_of(const std::vector<Observation>& observations, files::TreeWorld* world,
                                        const files::ChosenTree& tree);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_SERVED_TREE_H_
