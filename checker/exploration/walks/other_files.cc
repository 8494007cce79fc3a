#include "checker/exploration/walks/other_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace powercut {

namespace fs = std::filesystem;

namespace {

// As FileWatch::met has it.
constexpr const char* kNames = "the names in ";

fs::path folder_of(const std::string& file) {
  const std::string names = kNames;
  return file.starts_with(names) ? fs::path(file.substr(names.size())) : fs::path(file).parent_path();
}

fs::path common_folder(const fs::path& one, const fs::path& other) {
  fs::path out;
  const auto ends = std::ranges::mismatch(one, other);
  for (auto at = one.begin(); at != ends.in1; ++at) out /= *at;
  return out;
}

bool holds(const fs::path& folder, const fs::path& path) { return common_folder(folder, path) == folder; }

std::string pool_option(const TracePools& pools) { return pools.changed_by_calls() ? "--device" : "--pool"; }

std::string working_folder() {
  std::error_code wrong;
  return fs::current_path(wrong).string();
}

}  // namespace

std::string some_of(const std::vector<std::string>& files) {
  constexpr size_t kNamed = 4;
  std::string out;
  for (size_t i = 0; i < files.size() && i < kNamed; ++i) out += (i > 0 ? ", " : "") + files[i];
  return files.size() > kNamed ? out + " and " + std::to_string(files.size() - kNamed) + " more" : out;
}

std::string other_files_met(const std::vector<std::string>& met) {
  if (met.empty()) return "";
  return "recovery, or a command after it, looks at files that the recorded program has changed and that no image "
         "holds: " +
         some_of(met);
}

std::string files_option(const TracePools& pools, const std::vector<std::string>& files, const std::string& working) {
  const std::string apart = "--files DIR, where DIR is a folder that holds all of them and nothing else";
  if (pools.windows.empty()) return apart;
  fs::path folder = fs::path(pools.windows.front().path).parent_path();
  for (const PoolWindow& pool : pools.windows) folder = common_folder(folder, fs::path(pool.path).parent_path());
  for (const std::string& file : files) folder = common_folder(folder, folder_of(file));
  const bool all = folder == folder.root_path() || holds(folder, working);
  return all ? apart : "--files " + folder.string();
}

std::string note_of_met(const TracePools& pools, const std::vector<std::string>& met) {
  return other_files_met(met) +
         ". An image of any crash point meets these files as the whole run has left them, so there is no verdict. "
         "powercut judges them together with " +
         files_option(pools, met, working_folder()) + ", in the place of " + pool_option(pools);
}

std::string note_of_unmet(const TracePools& pools, const std::vector<std::string>& met,
                          const std::vector<std::string>& added) {
  const auto told = [&](const std::string& path) {
    return std::ranges::find(met, path) != met.end() || std::ranges::find(added, path) != added.end();
  };
  std::vector<std::string> rest;
  for (const OtherFile& file : pools.other_files) {
    if (!told(file.path)) rest.push_back(file.path);
  }
  if (rest.empty()) return "";
  std::string note =
      "the recorded program has changed other files, which no image holds and no command looked at: " + some_of(rest);
  if (!met.empty()) return note;
  return note + ". If they are data, powercut judges them with " + files_option(pools, rest, working_folder()) +
         ", in the place of " + pool_option(pools);
}

}  // namespace powercut
