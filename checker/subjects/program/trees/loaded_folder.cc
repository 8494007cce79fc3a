#include "checker/subjects/program/trees/loaded_folder.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

namespace powercut {

Result<std::unique_ptr<LoadedFolder>> LoadedFolder::open(const ProgramOptions& options, const std::string& folder) {
  auto commands = parse_steps(options, [&folder](const std::string& json, const std::string& option) {
    return parse_folder_command(json, option, folder);
  });
  if (!commands) return commands.error();
  auto out = std::make_unique<LoadedFolder>();
  out->folder_ = folder;
  out->commands_ = std::move(*commands);
  // Recoveries that crash by the thousand must not leave a core file each.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(SIGPIPE, SIG_IGN);
  auto guardian = Guardian::start(work_folder(options));
  if (!guardian) return guardian.error();
  out->guardian_ = std::move(*guardian);
  // The commands run where this process does.
  std::error_code nowhere;
  out->guardian_->look_after({}, DataFolders({folder}, std::filesystem::current_path(nowhere).string()));
  return out;
}

Result<std::vector<std::unique_ptr<TreeWorker>>> LoadedFolder::workers(int jobs,
                                                                       const std::atomic<bool>* cancel) const {
  std::vector<std::unique_ptr<TreeWorker>> out;
  for (int i = 0; i < jobs; ++i) {
    auto worker =
        TreeWorker::create(guardian_->folder() + "/" + std::to_string(i), folder_, commands_, guardian_.get(), cancel);
    if (!worker) return worker.error();
    out.push_back(std::move(*worker));
  }
  return out;
}

uint32_t LoadedFolder::mode(const std::string& path, InodeKind kind) const {
  struct stat status{};
  if (lstat((folder_ + "/" + path).c_str(), &status) == 0) {
    const bool same = kind == InodeKind::kFolder ? S_ISDIR(status.st_mode)
                      : kind == InodeKind::kFile ? S_ISREG(status.st_mode)
                                                 : S_ISLNK(status.st_mode);
    if (same) return status.st_mode & 07777;
  }
  return kind == InodeKind::kFolder ? 0755 : kind == InodeKind::kFile ? 0644 : 0777;
}

}  // namespace powercut
