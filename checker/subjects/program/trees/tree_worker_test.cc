// Commands on a served folder: the tree that a command finds, its observations, and the tree that it leaves.
#include "checker/subjects/program/trees/tree_worker.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "checker/subjects/program/trees/test_trees.h"
#include "gmock/gmock.h"

namespace powercut {
namespace {

using files::EffectKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::MadeTree;
using ::testing::Not;
using testing::texts_of;
using testing::TreeFixture;

const std::string test_programs = POWERCUT_TEST_PROGRAMS;

// A program on a tree of one file, number 2, with 10,000 bytes.
struct OneFile : TreeFixture {
  explicit OneFile(const std::string& how, const std::string& program = "test-tree-program", double timeout = 10)
      : TreeFixture({test_programs + "/" + program, how, "{image}"}, timeout) {
    tree.file("file", std::string(10'000, 'b'));
  }
  // The output of the program, as a dump.
  std::string printed() {
    commands.dump = commands.recover;
    commands.recover = command({"/bin/true"});
    make();
    const TreeWorker::Ran ran = run();
    EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.said;
    return ran.outcome.text();
  }
};

std::string line_of(const files::Effect& effect) {
  return std::to_string(static_cast<int>(effect.kind)) + " " + std::to_string(effect.inode) + " " + effect.name;
}

TEST(TreeWorker, CatFindsTheImageInThePlaceOfTheFolder) {
  TreeFixture fixture({"/bin/cat", "{image}/file"});
  fixture.tree.file("file", "of the image");
  fixture.commands.dump = fixture.command({"/bin/cat", fixture.folder + "/file"});
  fixture.make();
  for (int round = 0; round < 3; ++round) {
    const TreeWorker::Ran ran = fixture.run();
    EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.said;
    EXPECT_EQ(ran.outcome.text(), "of the image");
    EXPECT_THAT(texts_of(ran.observations), ElementsAre("name 1 file", "size 2", "links 2", "bytes 2 0+12"));
  }
}

TEST(TreeWorker, EachRunFindsItsOwnTree) {
  TreeFixture fixture({"/bin/true"});
  fixture.commands.dump = fixture.command({"/bin/sh", "-c", "cat {image}/*/file; echo more > {image}/d/file"});
  fixture.make();
  for (int round = 0; round < 20; ++round) {
    fixture.tree = MadeTree();
    const uint64_t folder = fixture.tree.folder(round % 3 == 0 ? "d" : "e");
    if (round % 3 != 0) fixture.tree.folder("d");
    fixture.tree.file("file", std::to_string(round), folder);
    EXPECT_THAT(fixture.run().outcome.text(), HasSubstr(std::to_string(round)));
  }
}

class BothKinds : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(TreeWorker, BothKinds, ::testing::Values("test-tree-program", "test-tree-program-static"));

TEST_P(BothKinds, TellWhatTheyCouldTell) {
  const std::string name = "name 1 file", size = "size 2", links = "links 2";
  EXPECT_THAT(OneFile("open", GetParam()).seen(), ElementsAre(name));
  EXPECT_THAT(OneFile("size", GetParam()).seen(), ElementsAre(name, size, links));
  EXPECT_THAT(OneFile("threads", GetParam()).seen(), ElementsAre(name, "bytes 2 0+100", "bytes 2 200+50"));
  EXPECT_THAT(OneFile("append", GetParam()).seen(), ElementsAre(name, size));
  EXPECT_THAT(OneFile("anew", GetParam()).seen(), ElementsAre(name, links));
  EXPECT_THAT(OneFile("overlap", GetParam()).seen(),
              ElementsAre(name, "bytes 2 0+10", "bytes 2 13+7", "bytes 2 20+15"));
  EXPECT_THAT(OneFile("map", GetParam()).seen(), ElementsAre(name, size, "bytes 2 4096+4096"));
  EXPECT_EQ(OneFile("map", GetParam()).printed(), "98\n");
  EXPECT_EQ(OneFile("raw", GetParam()).printed(), "10\n");
}

TEST_P(BothKinds, CannotMakeCallsThatTellMore) {
  EXPECT_EQ(OneFile("refused", GetParam()).printed(), "22 38 95 0 38\n");
}

TEST(TreeWorker, AnAccessBehindAMappedFileTellsItsSize) {
  OneFile fixture("behind");
  const TreeWorker::Ran ran = fixture.run();
  EXPECT_EQ(ran.outcome.kind, ProgramOutcome::Kind::kSignal);
  EXPECT_EQ(ran.outcome.code, SIGBUS);
  EXPECT_THAT(texts_of(ran.observations), ElementsAre("name 1 file", "size 2"));
}

TEST(TreeWorker, AProgramThatLooksAtTheFolderBeforeMainIsStartedAnew) {
  {
    OneFile fixture("constructor");
    EXPECT_THAT(fixture.seen(), ElementsAre("name 1 file"));
    EXPECT_THAT(fixture.worker->notes(), ElementsAre(HasSubstr("started anew")));
  }
  OneFile fixture("open");
  EXPECT_THAT(fixture.seen(), ElementsAre("name 1 file"));
  EXPECT_THAT(fixture.worker->notes(), ElementsAre());
}

TEST(TreeWorker, TheChangesOfARunAreToldInTheirOrder) {
  OneFile fixture("replace");
  fixture.tree.file("other", "");
  const TreeWorker::Ran ran = fixture.run({.keep_changes = true, .first_new = 100});
  ASSERT_TRUE(ran.outcome.ok()) << ran.outcome.said;
  std::vector<std::string> lines;
  for (const files::Effect& effect : ran.changes) lines.push_back(line_of(effect));
  const auto line = [](EffectKind kind, uint64_t inode, const std::string& name = "") {
    files::Effect effect;
    effect.kind = kind;
    effect.inode = inode;
    effect.name = name;
    return line_of(effect);
  };
  EXPECT_THAT(lines, ElementsAre(line(EffectKind::kCreate, 100, "new"), line(EffectKind::kWrite, 100),
                                 line(EffectKind::kSync, 100), line(EffectKind::kRename, 100, "new"),
                                 line(EffectKind::kSync, kTreeRoot), line(EffectKind::kCreate, 101, "made"),
                                 line(EffectKind::kLink, 100, "second"), line(EffectKind::kCreate, 102, "soft"),
                                 line(EffectKind::kUnlink, 3, "other"), line(EffectKind::kCreate, 103, "log"),
                                 line(EffectKind::kWrite, 103), line(EffectKind::kSize, 103),
                                 line(EffectKind::kAllocate, 103), line(EffectKind::kSync, 103)));
  EXPECT_EQ(ran.changes[1].data, "whole");
  EXPECT_EQ(ran.changes[10].through, files::Through::kData);
  EXPECT_EQ(ran.changes[13].sync, files::SyncKind::kData);
  const auto left = fixture.worker->left();
  std::string bytes(5, '\0');
  left->read(left->look_up(kTreeRoot, "file"), 0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  EXPECT_EQ(bytes, "whole");
}

// Commands of every kind that change the folder: shell scripts, Python.
TEST(TreeWorker, ScriptsRunOnTheImage) {
  TreeFixture fixture(
      {"/bin/sh", "-c", "cd {image} && mkdir -p a/b && cp file a/b/copy && mv file moved && ls > list"});
  fixture.tree.file("file", "of the image");
  fixture.commands.dump = fixture.command({"/bin/sh", "-c", "cd {image}; cat list a/b/copy moved; ls -a"});
  fixture.make();
  EXPECT_EQ(fixture.run().outcome.text(), "a\nlist\nmoved\nof the imageof the image.\n..\na\nlist\nmoved\n");
  fixture.commands.dump = fixture.command(
      {"/usr/bin/env", "python3", "-c",
       "import os, shutil; os.chdir('{image}'); shutil.copytree('a', 'c'); print(sorted(os.listdir('c/b')), "
       "open('moved').read(), os.path.getsize('c/b/copy'))"});
  fixture.make();
  EXPECT_EQ(fixture.run().outcome.text(), "['copy'] of the image 12\n");
}

TEST(TreeWorker, AnInodeThatNeverReachedTheDiskIsListedAndCannotBeUsed) {
  TreeFixture fixture({"/bin/true"});
  fixture.tree.inodes.at(fixture.tree.file("broken", "")).node.bad = true;
  fixture.commands.dump = fixture.command({"/bin/sh", "-c", "cd {image}; ls; LANG=C cat broken 2>&1; true"});
  fixture.make();
  EXPECT_EQ(fixture.run().outcome.text(), "broken\ncat: broken: Input/output error\n");
}

TEST(TreeWorker, ElsewhereTheWorldIsAnotherOne) {
  TreeFixture fixture({"/bin/true"});
  fixture.tree.file("a", "");
  fixture.tree.file("b", "");
  fixture.commands.dump = fixture.command({"/bin/sh", "-c", "cd {image}; stat -c '%i %Y' a; ls -U"});
  fixture.make();
  const std::string usual = fixture.run().outcome.text(), other = fixture.run({.elsewhere = true}).outcome.text();
  EXPECT_EQ(usual, "2 1577836800\na\nb\n");
  EXPECT_THAT(other, HasSubstr("\nb\na\n"));
  EXPECT_EQ(usual, fixture.run().outcome.text());
}

TEST(TreeWorker, ElsewhereItIsAnotherSecond) {
  TreeFixture fixture({"/bin/true"});
  fixture.commands.dump = fixture.command({"/bin/date", "+%s"});
  fixture.make();
  const auto second = [&](bool elsewhere) { return std::stol(fixture.run({.elsewhere = elsewhere}).outcome.text()); };
  const long first = second(false);
  for (int shift = 1; shift <= 6; ++shift) EXPECT_THAT(second(true) - first, AllOf(Ge(shift), Le(shift + 3)));
  EXPECT_LE(second(false) - first, 3);
}

TEST(TreeWorker, TheWatchOverOtherFilesLeavesTheTreeAlone) {
  TreeFixture fixture({"/bin/sh", "-c", "cd {image}; chmod 700 .; echo more >> file; rm mine; mkdir new; cat file"});
  fixture.guard->look_after({{fixture.folder + "/file", false}}, DataFolders({fixture.folder + "/file"}, "/"));
  fixture.tree.file("file", "bytes");
  fixture.tree.file("mine", "of the image");
  fixture.make();
  for (int round = 0; round < 2; ++round) {
    const TreeWorker::Ran ran = fixture.run();
    EXPECT_TRUE(ran.outcome.ok()) << ran.outcome.said;
    EXPECT_THAT(testing::text_of(*fixture.worker->left()), HasSubstr("new 2 "));
  }
  EXPECT_TRUE(fixture.guard->files()->clear());
  EXPECT_TRUE(std::filesystem::exists(fixture.folder + "/mine"));
}

// Neither mounts of this process nor the user's file.
void expect_untouched(const std::string& folder) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string text((std::istreambuf_iterator<char>(mounts)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, Not(HasSubstr(folder)));
  std::ifstream mine(folder + "/mine");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(mine)), std::istreambuf_iterator<char>()), "of the user");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
}

TEST_P(BothKinds, NothingIsLeftOfRunsThatMisbehave) {
  for (const std::string how : {"killed", "hang", "daemon"}) {
    OneFile fixture(how, GetParam(), how == "hang" ? 0.2 : 10);
    for (int round = 0; round < 2; ++round) {
      const ProgramOutcome outcome = fixture.run().outcome;
      if (how == "killed") EXPECT_EQ(outcome.code, SIGKILL);
      if (how == "hang") EXPECT_EQ(outcome.kind, ProgramOutcome::Kind::kTimeout);
      EXPECT_EQ(outcome.left_processes, how == "daemon");
    }
    expect_untouched(fixture.folder);
  }
}

// Processes, without zombies, in whose mount namespace something lies over the folder.
int processes_with(const std::string& folder) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream mounts(entry.path() / "mountinfo");
    const std::string text((std::istreambuf_iterator<char>(mounts)), std::istreambuf_iterator<char>());
    count += text.find(" " + folder + " ") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST_P(BothKinds, NothingIsLeftOfAnEngineThatIsKilled) {
  const std::string kept = testing::guardian()->folder() + "-kept";
  std::filesystem::create_directory(kept);
  std::ofstream(kept + "/mine") << "of the user";
  const pid_t engine = fork();
  if (engine == 0) {
    OneFile fixture("hang", GetParam(), 60);
    fixture.folder = kept;
    fixture.commands.recover = fixture.command({test_programs + "/" + GetParam(), "hang", "{image}"});
    fixture.make();
    fixture.run();
    _exit(0);
  }
  for (int round = 0; round < 500 && processes_with(kept) == 0; ++round) usleep(10'000);
  usleep(200'000);
  EXPECT_GE(processes_with(kept), 1);
  kill(engine, SIGKILL);
  waitpid(engine, nullptr, 0);
  for (int round = 0; round < 500 && processes_with(kept) > 0; ++round) usleep(10'000);
  EXPECT_EQ(processes_with(kept), 0);
  expect_untouched(kept);
  std::filesystem::remove_all(kept);
}

TEST(TreeWorker, ACommandThatLiesInTheFolderIsRefused) {
  TreeFixture fixture({"/bin/true"});
  const std::string program = fixture.folder + "/program";
  std::filesystem::copy_file("/bin/true", program);
  std::ofstream(fixture.folder + "/script") << "#!/bin/sh\n";
  const auto refused = [&](const std::vector<std::string>& words) {
    const auto made = parse_folder_command(Json(words).dump(), "--recover", fixture.folder);
    return made.ok() ? "" : made.error().message();
  };
  EXPECT_THAT(refused({program}), HasSubstr("lies in the folder that is judged"));
  EXPECT_THAT(refused({"/bin/sh", "{image}/script"}), HasSubstr("lies in the folder that is judged"));
  EXPECT_EQ(refused({"/bin/cat", "{image}/mine", fixture.folder, "--at={image}"}), "");
  EXPECT_THAT(fixture.command({"/bin/echo", "--at={image}/x", "mine"}).words,
              ElementsAre("/bin/echo", "--at=" + fixture.folder + "/x", "mine"));
}

}  // namespace
}  // namespace powercut
