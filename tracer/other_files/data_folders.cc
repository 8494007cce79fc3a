#include "tracer/other_files/data_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tracer/other_files/changed_files.h"

namespace powercut {

DataFolders::DataFolders(const std::vector<std::string>& pools, const std::string& working) : pools_(pools) {
  std::error_code wrong;
  const std::string here = std::filesystem::weakly_canonical(working, wrong).string();
  for (const std::string& pool : pools) {
    folders_.push_back(std::filesystem::path(pool).parent_path().string());
    if (is_below(here, {folders_.back()})) shared_.push_back(folders_.back());
  }
}

bool DataFolders::comes_back(const FileUse& use) {
  if (!is_below(use.path, folders_) || is_below(use.path, stays_)) return false;
  const auto of_pool = [&](const std::string& pool) { return use.path.starts_with(pool); };
  if (!is_below(use.path, shared_) || std::ranges::any_of(pools_, of_pool)) return true;
  struct stat status{};
  const bool output = use.adds || (use.defines && use.change == FileUse::Change::kContents);
  if (!output && lstat(use.path.c_str(), &status) == 0) return true;
  stays_.push_back(use.path);
  return false;
}

}  // namespace powercut
