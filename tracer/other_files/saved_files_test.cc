#include "tracer/other_files/saved_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tracer/other_files/changed_files.h"

namespace powercut {
namespace {

namespace fs = std::filesystem;
using Change = FileUse::Change;

class OtherFiles : public testing::Test {
 protected:
  OtherFiles() {
    std::string made = testing::TempDir() + "/powercut-other-XXXXXX";
    folder_ = fs::canonical(mkdtemp(made.data())).string();
    data_ = folder_ + "/data";
    fs::create_directory(data_);
  }
  ~OtherFiles() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return data_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(at(name)) << text; }
  // The tree below the data's folder: types, modes and contents.
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(data_)) {
      std::ostringstream text;
      struct stat status{};
      lstat(entry.path().c_str(), &status);
      text << std::oct << status.st_mode << ' ';
      if (entry.is_symlink()) {
        text << fs::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        text << std::ifstream(entry.path()).rdbuf();
      }
      out[entry.path().string()] = text.str();
    }
    return out;
  }

  std::string folder_, data_;
};

TEST_F(OtherFiles, ComeBackAsTheyWere) {
  write("kept", "old");
  write("gone", "still\n");
  chmod(at("gone").c_str(), 0640);
  fs::create_directory(at("below"));
  write("below/deep", "deep");
  fs::create_symlink("kept", at("link"));
  const auto before = tree();
  const std::string saved = folder_ + "/saved";
  {
    SavedFiles files(saved);
    for (const char* name : {"kept", "gone", "link", "new"}) ASSERT_TRUE(files.save(at(name), false));
    ASSERT_TRUE(files.save(at("below"), true));
    ASSERT_TRUE(files.save(at("moved"), true));
    write("kept", "another text");
    ASSERT_TRUE(files.save(at("kept"), false)) << "what it was first counts";
    fs::remove(at("gone"));
    fs::remove(at("link"));
    fs::create_directories(at("new/with/more"));
    fs::rename(at("below"), at("moved"));
    write("moved/deep", "changed");
  }
  EXPECT_NE(tree(), before);
  EXPECT_TRUE(SavedFiles::put_back(saved));
  EXPECT_EQ(tree(), before);
  EXPECT_FALSE(fs::exists(saved));
}

TEST_F(OtherFiles, ComeBackUnderAllNamesOfAFile) {
  write("one", "text");
  fs::create_hard_link(at("one"), at("other"));
  const std::string saved = folder_ + "/saved";
  SavedFiles files(saved);
  ASSERT_TRUE(files.save(at("one"), false));
  write("one", "more text");
  EXPECT_TRUE(SavedFiles::put_back(saved));
  EXPECT_TRUE(fs::equivalent(at("one"), at("other")));
  EXPECT_EQ(tree().at(at("other")), tree().at(at("one")));
}

TEST_F(OtherFiles, AreNotTouchedByALineThatWasCutOff) {
  write("kept", "old");
  const std::string saved = folder_ + "/saved";
  fs::create_directory(saved);
  std::ofstream(saved + "/journal") << "absent 0 0 0 x" << "2f746d70";
  EXPECT_TRUE(SavedFiles::put_back(saved));
  EXPECT_TRUE(fs::exists("/tmp"));
}

TEST_F(OtherFiles, AreChangedByWhatIsDoneAndNotByWhatIsOnlyOpened) {
  write("opened", "old");
  write("written", "old");
  write("there", "old");
  usleep(200'000);
  ChangedFiles changed({at("spared")});
  const auto take = [&](const char* name, Change change) {
    changed.take({.uses = {{.path = at(name), .change = change}}, .unseen = ""});
  };
  take("opened", Change::kMaybe);
  take("written", Change::kMaybe);
  write("written", "new");
  take("made", Change::kMaybe);
  take("absent", Change::kTaken);
  take("there", Change::kMade);
  take("spared/below", Change::kContents);
  take("__pycache__/a.pyc", Change::kReplaced);
  changed.take({.uses = {{.path = "/dev/null", .change = Change::kMaybe}}, .unseen = ""});
  write("journal", "old");
  take("journal", Change::kTaken);
  fs::remove(at("journal"));
  std::map<std::string, bool> found;
  for (const ChangedFiles::File& file : changed.files()) found[file.path] = file.named;
  const std::map<std::string, bool> expected = {{at("journal"), true}, {at("made"), true}, {at("written"), false}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace powercut
