// Trees as JSON for a finding: the paths on which several trees differ, each with the bytes around the first
// difference.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_LISTING_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_LISTING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/event_stream.h"
#include "checker/subjects/program/trees/image_tree.h"

namespace powercut {

struct ListedPath {
  const char* kind = "";
  uint64_t size = 0;
  std::string target = {}, bytes = {};  // the bytes of a file, at most kMostListed of them
  bool operator==(const ListedPath&) const = default;
};
inline constexpr uint64_t kMostListed = 16 << 20;
using TreeListing = std::map<std::string, ListedPath>;

// Lists all paths below the folder.
TreeListing listing_of(const ImageTree& tree);
// Returns one object a tree: {"paths": […], "others": number of paths that are the same in all trees}.
std::vector<Json> differing(const std::vector<TreeListing>& trees);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_LISTING_H_
