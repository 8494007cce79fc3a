// Trees of tests, and workers on them.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TEST_TREES_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TEST_TREES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checker/subjects/program/test_files.h"
#include "checker/subjects/program/trees/tree_worker.h"

namespace powercut::testing {

// A tree in memory.
class MadeTree : public ImageTree {
 public:
  struct Inode {
    ImageNode node;
    std::string bytes;
    std::map<std::string, uint64_t, std::less<>> names;
  };
  MadeTree() { inodes[kTreeRoot].node = {.kind = InodeKind::kFolder, .mode = 0755}; }

  uint64_t add(uint64_t folder, const std::string& name, ImageNode node, const std::string& bytes = {}) {
    const uint64_t inode = ++last;
    node.size = bytes.size();
    inodes[inode] = {node, bytes, {}};
    inodes.at(folder).names[name] = inode;
    return inode;
  }
  uint64_t file(const std::string& name, const std::string& bytes, uint64_t folder = kTreeRoot) {
    return add(folder, name, {.kind = InodeKind::kFile}, bytes);
  }
  uint64_t folder(const std::string& name, uint64_t in = kTreeRoot) {
    return add(in, name, {.kind = InodeKind::kFolder, .mode = 0755});
  }
  uint64_t symlink(const std::string& name, const std::string& target, uint64_t in = kTreeRoot) {
    return add(in, name, {.kind = InodeKind::kLink, .mode = 0777, .target = target});
  }
  void link(uint64_t inode, const std::string& name, uint64_t folder = kTreeRoot) {
    inodes.at(folder).names[name] = inode;
    ++inodes.at(inode).node.links;
  }

  ImageNode node(uint64_t inode) const override { return inodes.at(inode).node; }
  uint64_t look_up(uint64_t folder, std::string_view name) const override {
    const auto& names = inodes.at(folder).names;
    const auto found = names.find(name);
    return found == names.end() ? 0 : found->second;
  }
  std::vector<std::pair<std::string, uint64_t>> names(uint64_t folder) const override {
    const auto& names = inodes.at(folder).names;
    return {names.begin(), names.end()};
  }
  void read(uint64_t inode, uint64_t offset, std::span<uint8_t> out) const override {
    const std::string& bytes = inodes.at(inode).bytes;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = offset + i < bytes.size() ? static_cast<uint8_t>(bytes[offset + i]) : 0;
    }
  }

  std::map<uint64_t, Inode> inodes;
  uint64_t last = kTreeRoot;
};

inline std::string digest_of(const std::string& bytes) { return std::to_string(std::hash<std::string>()(bytes)); }

// A tree as text, a line for each path: its kind and mode, a link's target, or number of names, size and digest.
inline std::string text_of(const ImageTree& tree, uint64_t folder = kTreeRoot, const std::string& at = "") {
  std::string out;
  for (const auto& [name, inode] : tree.names(folder)) {
    const ImageNode node = tree.node(inode);
    const std::string path = at + name;
    out += path + " " + std::to_string(static_cast<int>(node.kind)) + " " + std::to_string(node.mode);
    if (node.kind == InodeKind::kLink) out += " -> " + node.target;
    if (node.kind == InodeKind::kFile) {
      std::string bytes(node.size, '\0');
      tree.read(inode, 0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
      out += " " + std::to_string(node.links) + " " + std::to_string(node.size) + " " + digest_of(bytes);
    }
    out += "\n";
    if (node.kind == InodeKind::kFolder) out += text_of(tree, inode, path + "/");
  }
  return out;
}

inline std::string text_of(const Observation& seen) {
  static constexpr const char* kinds[] = {"name", "names", "size", "links", "bytes"};
  std::string out = std::string(kinds[static_cast<size_t>(seen.kind)]) + " " + std::to_string(seen.inode);
  if (seen.kind == Observation::Kind::kName) out += " " + seen.name;
  if (seen.kind == Observation::Kind::kBytes)
    out += " " + std::to_string(seen.offset) + "+" + std::to_string(seen.size);
  return out;
}

inline std::vector<std::string> texts_of(const std::vector<Observation>& seen) {
  std::vector<std::string> out;
  for (const Observation& one : seen) out.push_back(text_of(one));
  return out;
}

// A worker for one command on a folder of its own, which holds one file that no run may see or change.
struct TreeFixture {
  explicit TreeFixture(std::vector<std::string> words, double timeout = 10) : guard(guardian()) {
    folder = guard->folder() + "/data";
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/mine") << "of the user";
    commands.timeout = timeout;
    commands.recover = command(std::move(words));
    make();
  }
  Command command(const std::vector<std::string>& words) const {
    auto made = parse_folder_command(Json(words).dump(), "--recover", folder);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    return std::move(*made);
  }
  // Makes the worker anew, after a change of the commands.
  void make() {
    worker.reset();
    auto made =
        TreeWorker::create(guard->folder() + "/" + std::to_string(++workers), folder, commands, guard.get(), nullptr);
    ASSERT_TRUE(made.ok()) << made.error().message();
    worker = std::move(*made);
  }
  TreeWorker::Ran run(const TreeWorker::Options& options = {}) {
    auto ran = worker->run(tree, options);
    EXPECT_TRUE(ran.ok()) << (ran.ok() ? "" : ran.error().message());
    return ran.ok() ? *ran : TreeWorker::Ran{};
  }
  std::vector<std::string> seen() { return texts_of(run().observations); }

  std::unique_ptr<Guardian> guard;
  std::string folder;
  ProgramCommands commands;
  MadeTree tree;
  int workers = 0;
  std::unique_ptr<TreeWorker> worker;
};

}  // namespace powercut::testing
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TEST_TREES_H_
