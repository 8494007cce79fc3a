// The folder that a run of the commands finds after a power cut, and what the run has seen of the folder.
//
// Inodes have numbers; the folder itself is kTreeRoot. The tree does not change while commands run on it: a server
// (tree_server.h) keeps the run's own changes apart, so no run meets changes of another one.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_IMAGE_TREE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_IMAGE_TREE_H_

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/format/tree_calls.h"

namespace powercut {

struct ImageNode {
  InodeKind kind = InodeKind::kFile;
  bool bad = false;  // the inode never reached the disk: the name is listed, and any use of it is an I/O error
  uint64_t size = 0;
  uint32_t mode = 0644;     // permission bits
  uint32_t links = 1;       // names that lead to the inode
  std::string target = {};  // of a symbolic link
};

class ImageTree {
 public:
  virtual ~ImageTree() = default;
  // Precondition of all members: the inode is one that names of this tree lead to, or the root.
  virtual ImageNode node(uint64_t inode) const = 0;
  // Returns the inode that a name in the folder leads to; 0: there is no such name.
  virtual uint64_t look_up(uint64_t folder, std::string_view name) const = 0;
  // Returns the names in the folder, ascending, and the inodes that they lead to.
  virtual std::vector<std::pair<std::string, uint64_t>> names(uint64_t folder) const = 0;
  // Fills `out` with the file's bytes from `offset` on. Bytes behind the end of the file are zeros.
  virtual void read(uint64_t inode, uint64_t offset, std::span<uint8_t> out) const = 0;
};

// A question about the tree whose answer a run could tell at one instant. A question about what the run itself
// has changed before is none.
struct Observation {
  enum class Kind : uint8_t {
    kName,   // where a name in a folder leads to, and of which kind the inode is; also that there is no such name
    kNames,  // all names in a folder, and of which kind their inodes are
    kSize,   // the size of a file
    kLinks,  // the number of names of a file or a symbolic link
    kBytes,  // bytes of a file; where the range reaches behind the end, also where the file ends
  };
  Kind kind = Kind::kName;
  uint64_t inode = 0;  // of kName and kNames: the folder
  std::string name = {};
  uint64_t offset = 0, size = 0;  // of kBytes; the size is not zero
  auto operator<=>(const Observation&) const = default;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_IMAGE_TREE_H_
