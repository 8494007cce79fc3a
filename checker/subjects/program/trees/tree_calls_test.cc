// Random calls (testdata/tree_calls.c) on served trees: they have the same result as on the kernel's own file system,
// and depend on nothing of the tree but on observations.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>

#include "checker/subjects/program/trees/test_trees.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using testing::MadeTree;
using testing::text_of;
using testing::TreeFixture;

// Long runs take more of them.
uint64_t sequences() {
  const char* asked = getenv("POWERCUT_SEQUENCES");
  return asked == nullptr ? 150 : std::strtoull(asked, nullptr, 10);
}

using Random = std::mt19937_64;

std::string random_bytes(Random& random, size_t size) {
  std::string out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

// Names that the program uses, and kinds of inodes that it may find under each.
MadeTree random_tree(uint64_t seed) {
  Random random(seed);
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  MadeTree tree;
  const auto fill = [&](uint64_t folder) {
    for (const char* name : {"a", "b", "c", "f", "\xff\n \x01", "other"}) {
      if (!chance(50)) continue;
      const size_t size = chance(20) ? 0 : chance(50) ? random() % 300 : random() % 12'000;
      const uint64_t file = tree.file(name, random_bytes(random, size), folder);
      tree.inodes.at(file).node.mode = 0600 + static_cast<uint32_t>(random() % 64);
      if (chance(20)) tree.link(file, std::string("linked ") + name, folder);
    }
  };
  fill(kTreeRoot);
  for (const char* name : {"d", "e"}) {
    if (!chance(70)) continue;
    const uint64_t folder = tree.folder(name);
    if (chance(70)) fill(folder);
    if (chance(40)) fill(tree.folder("sub", folder));
  }
  if (chance(50)) tree.symlink("link", chance(50) ? "d" : "a");
  if (chance(30)) tree.symlink("dangling", "nothing");
  return tree;
}

// Makes the tree in an empty folder of the kernel's file system.
void make_in(const MadeTree& tree, const std::string& at, uint64_t folder, std::map<uint64_t, std::string>* made) {
  for (const auto& [name, inode] : tree.names(folder)) {
    const MadeTree::Inode& what = tree.inodes.at(inode);
    const std::string path = at + "/" + name;
    if (const auto other = made->find(inode); other != made->end()) {
      std::filesystem::create_hard_link(other->second, path);
      continue;
    }
    (*made)[inode] = path;
    if (what.node.kind == InodeKind::kLink) {
      std::filesystem::create_symlink(what.node.target, path);
    } else if (what.node.kind == InodeKind::kFolder) {
      std::filesystem::create_directory(path);
      make_in(tree, path, inode, made);
    } else {
      std::ofstream(path, std::ios::binary) << what.bytes;
    }
    if (what.node.kind != InodeKind::kLink) chmod(path.c_str(), what.node.mode);
  }
}

// The folder as text_of() tells a tree.
std::string text_of_folder(const std::string& folder, const std::string& at = "") {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  std::string out;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    struct stat status{};
    lstat(path.c_str(), &status);
    const int kind = S_ISDIR(status.st_mode) ? 2 : S_ISLNK(status.st_mode) ? 3 : 1;
    out += at + name + " " + std::to_string(kind) + " " + std::to_string(status.st_mode & 07777);
    if (kind == 3) out += " -> " + std::filesystem::read_symlink(path).string();
    if (kind == 1) {
      std::ifstream file(path, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      out += " " + std::to_string(status.st_nlink) + " " + std::to_string(status.st_size) + " " +
             testing::digest_of(bytes);
    }
    out += "\n";
    if (kind == 2) out += text_of_folder(path, at + name + "/");
  }
  return out;
}

std::string printed_by(const std::string& command) {
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> text{};
  for (size_t size; (size = fread(text.data(), 1, text.size(), pipe)) > 0;) out.append(text.data(), size);
  EXPECT_EQ(pclose(pipe), 0);
  return out;
}

// The first lines that differ, and the line before them; empty where none does.
std::string difference(const std::string& got, const std::string& wanted) {
  if (got == wanted) return "";
  std::istringstream ours(got), theirs(wanted);
  std::string our, their, before;
  for (;; before = our) {
    const bool more = std::getline(ours, our).good();
    if (std::getline(theirs, their).good() != more || our != their || !more) break;
  }
  return "behind '" + before + "': '" + our + "', not '" + their + "'";
}

// The random program on a served folder.
struct Calls : TreeFixture {
  explicit Calls(int calls) : TreeFixture({"/bin/true"}), many(std::to_string(calls)) {
    program = std::string(POWERCUT_TEST_PROGRAMS) + "/test-tree-calls";
    seeds = guard->folder() + "/seed";
    commands.dump = command({program, "{image}", seeds, many});
    make();
  }
  void draw(uint64_t seed) const { std::ofstream(seeds, std::ios::trunc) << seed; }
  std::string many, program, seeds;
};

TEST(TreeCalls, ComeToTheSameAsOnTheKernelsFileSystem) {
  Calls fixture(60);
  const std::string native = fixture.guard->folder() + "/native";
  for (uint64_t seed = 1; seed <= sequences(); ++seed) {
    fixture.tree = random_tree(seed);
    std::filesystem::create_directory(native);
    std::map<uint64_t, std::string> made;
    make_in(fixture.tree, native, kTreeRoot, &made);
    ASSERT_EQ(text_of(fixture.tree), text_of_folder(native));
    fixture.draw(seed);
    const std::string wanted = printed_by(fixture.program + " " + native + " " + fixture.seeds + " " + fixture.many);
    const TreeWorker::Ran ran = fixture.run();
    ASSERT_TRUE(ran.outcome.ok()) << seed << ": " << ran.outcome.said;
    ASSERT_EQ(difference(ran.outcome.text(), wanted), "") << seed;
    ASSERT_EQ(difference(text_of(*fixture.worker->left()), text_of_folder(native)), "") << seed;
    std::filesystem::remove_all(native);
  }
}

// All that observations tell of one inode.
struct Known {
  std::set<std::string> names;
  std::vector<FileRange> bytes;
  bool all_names = false, size = false, links = false;
  bool has(uint64_t offset) const {
    return std::ranges::any_of(bytes,
                               [&](const FileRange& part) { return part.first <= offset && offset < part.second; });
  }
};

std::map<uint64_t, Known> known_by(const MadeTree& tree, const std::vector<Observation>& seen) {
  std::map<uint64_t, Known> out;
  for (const Observation& one : seen) {
    Known& known = out[one.inode];
    switch (one.kind) {
      case Observation::Kind::kName:
        known.names.insert(one.name);
        break;
      case Observation::Kind::kNames:
        known.all_names = true;
        break;
      case Observation::Kind::kSize:
        known.size = true;
        break;
      case Observation::Kind::kLinks:
        known.links = true;
        break;
      case Observation::Kind::kBytes:
        known.bytes.emplace_back(one.offset, one.offset + one.size);
        known.size = known.size || one.offset + one.size > tree.node(one.inode).size;
    }
  }
  return out;
}

// Returns another tree of which the observations tell no difference: all else is drawn anew.
MadeTree another_tree(const MadeTree& tree, const std::vector<Observation>& seen, Random& random) {
  const std::map<uint64_t, Known> all = known_by(tree, seen);
  MadeTree out = tree;
  for (const auto& [inode, before] : tree.inodes) {
    const auto found = all.find(inode);
    const Known known = found == all.end() ? Known{} : found->second;
    if (before.node.kind == InodeKind::kFile) {
      MadeTree::Inode& now = out.inodes.at(inode);
      uint64_t least = 0;
      for (const FileRange& part : known.bytes) least = std::max(least, part.second);
      if (!known.size) now.bytes.resize(least + random() % 9000);
      for (uint64_t at = 0; at < now.bytes.size(); ++at) {
        if (!known.has(at)) now.bytes[at] = static_cast<char>(random());
      }
      now.node.size = now.bytes.size();
      if (!known.links) now.node.links = 1 + static_cast<uint32_t>(random() % 5);
    }
    if (before.node.kind != InodeKind::kFolder) continue;
    for (const char* name : {"a", "b", "c", "f", "d", "e", "sub", "link", "other", "\xff\n \x01", "one more"}) {
      const uint64_t old = tree.look_up(inode, name);
      if (known.names.contains(name) || random() % 2 == 0) continue;
      if (known.all_names && (old == 0 || tree.node(old).kind != InodeKind::kFile)) continue;
      out.inodes.at(inode).names.erase(name);
      if (known.all_names || random() % 2 == 0) out.file(name, random_bytes(random, random() % 500), inode);
    }
  }
  return out;
}

// Whether the run's outcome depends on nothing but the observations that are left without those of one kind.
bool depends_on(Calls& fixture, uint64_t seed, std::optional<Observation::Kind> dropped) {
  fixture.tree = random_tree(seed);
  fixture.draw(seed);
  const TreeWorker::Ran first = fixture.run();
  std::vector<Observation> seen = first.observations;
  std::erase_if(seen, [&](const Observation& one) { return one.kind == dropped; });
  Random random(seed);
  fixture.tree = another_tree(fixture.tree, seen, random);
  const TreeWorker::Ran second = fixture.run();
  const bool same = second.outcome.text() == first.outcome.text() && second.observations == first.observations;
  if (!same && !dropped) {
    ADD_FAILURE() << "seed " << seed << ": " << difference(second.outcome.text(), first.outcome.text()) << "\n"
                  << ::testing::PrintToString(testing::texts_of(first.observations)) << "\n"
                  << ::testing::PrintToString(testing::texts_of(second.observations));
  }
  return same;
}

TEST(TreeCalls, DependOnNothingButObservations) {
  Calls fixture(40);
  for (uint64_t seed = 1; seed <= sequences(); ++seed) {
    ASSERT_TRUE(depends_on(fixture, seed, std::nullopt)) << "seed " << seed;
  }
}

TEST(TreeCalls, DependOnObservationsOfEachKind) {
  Calls fixture(40);
  using enum Observation::Kind;
  for (const Observation::Kind kind : {kName, kNames, kSize, kLinks, kBytes}) {
    uint64_t seed = 1;
    while (seed <= 200 && depends_on(fixture, seed, kind)) ++seed;
    EXPECT_LE(seed, 200u) << "nothing depends on observations of kind " << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace powercut
