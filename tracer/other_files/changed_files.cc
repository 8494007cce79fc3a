#include "tracer/other_files/changed_files.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>

namespace powercut {
namespace {

// The clock of files ticks some hundred times a second: within so many seconds two changes may bear one time.
constexpr double kTick = 0.05;

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Made anew by whoever lacks them, and read by nobody but the machinery of a language.
bool is_cache(std::string_view path) {
  return path.find("/__pycache__/") != std::string_view::npos || path.ends_with("/__pycache__") ||
         path.ends_with(".gcda") || path.ends_with(".profraw");
}

bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

bool has_contents(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode); }

}  // namespace

bool is_below(const std::string& path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || folder == "/" || path[folder.size()] == '/');
  });
}

ChangedFiles::ChangedFiles(std::vector<std::string> spared) : spared_(std::move(spared)) {
  spared_.insert(spared_.end(), {"/proc", "/sys"});
}

bool ChangedFiles::counts(const FileUse& use) const {
  struct stat status{};
  return use.change != FileUse::Change::kNone && !is_below(use.path, spared_) && !is_cache(use.path) &&
         (lstat(use.path.c_str(), &status) != 0 ? errno == ENOENT : has_contents(status.st_mode));
}

void ChangedFiles::take(const FileCall& call) {
  if (!call.unseen.empty()) unseen_.insert(call.unseen);
  for (const FileUse& use : call.uses) {
    if (!counts(use)) continue;
    Opened opened;
    const bool there = lstat(use.path.c_str(), &opened.status) == 0;
    switch (use.change) {
      case FileUse::Change::kNone:
        break;
      case FileUse::Change::kMaybe:
        clock_gettime(CLOCK_REALTIME, &opened.when);
        if (there) opened_.try_emplace(use.path, opened);
        if (!there) changed_[use.path] = true;
        break;
      case FileUse::Change::kContents:
        changed_[use.path] = changed_[use.path] || !there;
        break;
      case FileUse::Change::kMade:
        if (!there) changed_[use.path] = true;
        break;
      case FileUse::Change::kTaken:
        if (there) changed_[use.path] = true;
        break;
      case FileUse::Change::kReplaced:
        changed_[use.path] = true;
        break;
    }
  }
}

std::vector<ChangedFiles::File> ChangedFiles::files() const {
  std::map<std::string, bool> all = changed_;
  for (const auto& [path, opened] : opened_) {
    struct stat now{};
    const struct stat& before = opened.status;
    const bool there = lstat(path.c_str(), &now) == 0;
    if (there && now.st_ino == before.st_ino && now.st_size == before.st_size && same(now.st_ctim, before.st_ctim) &&
        seconds(before.st_ctim) + kTick < seconds(opened.when)) {
      continue;
    }
    all[path] = all[path] || !there;
  }
  std::vector<File> out;
  for (const auto& [path, named] : all) out.push_back({path, named});
  return out;
}

}  // namespace powercut
