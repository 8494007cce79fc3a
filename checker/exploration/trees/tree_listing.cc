#include "checker/exploration/trees/tree_listing.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <functional>
#include <set>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kHead = 256, kRow = 16;

std::string hex_digest(const std::string& bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return absl::BytesToHexString({reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest});
}

// Returns the first byte at which two of the files differ; a missing file differs at 0.
size_t first_difference(const std::vector<const ListedPath*>& files) {
  size_t at = 0;
  for (;; ++at) {
    for (const ListedPath* file : files) {
      if (file == nullptr || files[0] == nullptr) return 0;
      if (at >= file->bytes.size() || at >= files[0]->bytes.size() || file->bytes[at] != files[0]->bytes[at]) return at;
    }
  }
}

Json path_json(const std::string& path, const ListedPath& listed, size_t offset) {
  const std::string head = offset < listed.bytes.size() ? listed.bytes.substr(offset, kHead) : "";
  return {{"path", path},
          {"kind", listed.kind},
          {"size", listed.size},
          {"target", listed.target},
          {"head", absl::BytesToHexString(head)},
          {"head_offset", offset},
          {"digest", hex_digest(listed.bytes)}};
}

}  // namespace

TreeListing listing_of(const ImageTree& tree) {
  TreeListing out;
  const std::function<void(uint64_t, const std::string&, int)> walk = [&](uint64_t folder, const std::string& above,
                                                                          int depth) {
    for (const auto& [name, inode] : tree.names(folder)) {
      const ImageNode node = tree.node(inode);
      ListedPath& listed = out[above + name];
      listed.kind = node.bad                          ? "bad"
                    : node.kind == InodeKind::kFile   ? "file"
                    : node.kind == InodeKind::kFolder ? "folder"
                                                      : "link";
      if (node.bad) continue;
      if (node.kind == InodeKind::kLink) listed.target = node.target;
      if (node.kind == InodeKind::kFile) {
        listed.size = node.size;
        listed.bytes.resize(std::min(node.size, kMostListed));
        tree.read(inode, 0, {reinterpret_cast<uint8_t*>(listed.bytes.data()), listed.bytes.size()});
      }
      // A folder may be within itself after a split rename.
      if (node.kind == InodeKind::kFolder && depth < 64) walk(inode, above + name + "/", depth + 1);
    }
  };
  walk(kTreeRoot, "", 0);
  return out;
}

std::vector<Json> differing(const std::vector<TreeListing>& trees) {
  std::set<std::string> paths;
  for (const TreeListing& tree : trees) {
    for (const auto& [path, listed] : tree) paths.insert(path);
  }
  std::vector<Json> out(trees.size(), Json{{"paths", Json::array()}, {"others", 0}});
  for (const std::string& path : paths) {
    std::vector<const ListedPath*> there;
    for (const TreeListing& tree : trees) {
      const auto found = tree.find(path);
      there.push_back(found == tree.end() ? nullptr : &found->second);
    }
    const bool same = std::ranges::all_of(
        there, [&](const ListedPath* each) { return each != nullptr && there[0] != nullptr && *each == *there[0]; });
    const size_t offset = same ? 0 : first_difference(there) / kRow * kRow;
    for (size_t tree = 0; tree < trees.size(); ++tree) {
      if (same) {
        out[tree]["others"] = out[tree]["others"].get<uint64_t>() + 1;
      } else if (there[tree] != nullptr) {
        out[tree]["paths"].push_back(path_json(path, *there[tree], offset));
      }
    }
  }
  return out;
}

}  // namespace powercut
