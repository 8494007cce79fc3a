// A tree: the folder as the calls of a trace leave it, replayed one after the other. The recorder keeps one beside the
// real folder: it tells which inode a name leads to, what a mapping has changed, and whether anybody else was at work.
#ifndef POWERCUT_TRACER_CALLS_TREE_H_
#define POWERCUT_TRACER_CALLS_TREE_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/format/tree_calls.h"

namespace powercut {

class Tree {
 public:
  static constexpr size_t kPage = 4096;

  struct Inode {
    InodeKind kind{};
    std::string target;  // of a link
    uint64_t size = 0;
    // A page that is not there holds zeroes.
    std::unordered_map<uint64_t, std::unique_ptr<std::array<uint8_t, kPage>>> pages;
    std::map<std::string, uint64_t> entries;  // of a folder
    uint64_t names = 0;                       // that lead to the inode
    uint64_t folder = 0;                      // of the latest name
    std::string name;
  };

  Tree();
  // Makes the call. Returns a sentence if the call does not fit the tree, which then stays as it was.
  std::optional<std::string> apply(const Event& call);

  const Inode* find(uint64_t inode) const;
  // The inode that the name leads to; 0 if there is none.
  uint64_t entry(uint64_t folder, const std::string& name) const;
  // Returns a path of the inode from the folder of the tree, "." for this folder itself.
  std::string path_of(uint64_t inode) const;
  // Fills `out` with the bytes of the file from `offset` on; zeroes beyond its end.
  void read(const Inode& file, uint64_t offset, std::span<uint8_t> out) const;
  // Compares the tree with a real folder. Returns sentences, at most `most`: each names a path and what differs.
  std::vector<std::string> differences(const std::string& folder, size_t most) const;

 private:
  Inode* known(uint64_t inode);
  void enter(uint64_t folder, const std::string& name, uint64_t inode);
  void leave(uint64_t folder, const std::string& name);
  void write(Inode& file, uint64_t offset, std::span<const uint8_t> bytes);
  void zero(Inode& file, uint64_t offset, uint64_t length);
  void resize(Inode& file, uint64_t size);
  std::optional<std::string> allocate(Inode& file, const Event& call);
  void compare(int parent, const std::string& name, uint64_t inode, size_t most, std::vector<std::string>& out,
               std::map<std::pair<uint64_t, uint64_t>, uint64_t>& met) const;

  std::unordered_map<uint64_t, Inode> inodes_;
};

// The holes that a real file and the known one have both: bytes within need not be compared.
class SharedHoles {
 public:
  // The descriptor stays the caller's, and its position moves.
  SharedHoles(int file, const Tree::Inode& known);
  // Returns the end of the hole that `at` lies in; `at` itself if it lies in none.
  uint64_t end_from(uint64_t at) const;

 private:
  int file_;
  uint64_t size_;
  std::vector<uint64_t> pages_;  // numbers, sorted
};

// Returns nothing for a socket, a pipe or a device.
std::optional<InodeKind> inode_kind(mode_t mode);

// A name as people read it: printable, with bytes that are no UTF-8 escaped.
std::string shown_name(const std::string& name);

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_TREE_H_
