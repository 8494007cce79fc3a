// A folder for the files of a test, which goes with it.
#ifndef POWERCUT_BASE_TEMPORARY_FOLDER_H_
#define POWERCUT_BASE_TEMPORARY_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace powercut::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "powercut-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace powercut::testing
#endif  // POWERCUT_BASE_TEMPORARY_FOLDER_H_
