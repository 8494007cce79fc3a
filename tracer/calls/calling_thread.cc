#include "tracer/calls/calling_thread.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "base/process_memory.h"

namespace powercut {
namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

// Takes a thread that does not lead its process (since Linux 6.9).
constexpr unsigned kOfThread = O_EXCL;

}  // namespace

pid_t CallingThread::process_of(pid_t thread) {
  const std::string path = "/proc/" + std::to_string(thread) + "/status";
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return thread;
  char line[256];
  int process = thread;
  while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "Tgid: %d", &process) != 1) {
  }
  std::fclose(file);
  return process;
}

bool CallingThread::read(uint64_t address, void* data, size_t size) const {
  return read_memory(thread_, address, data, size) == static_cast<ssize_t>(size);
}

std::optional<std::string> CallingThread::text(uint64_t address) const {
  return text_at(address, [this](uint64_t at, void* data, size_t size) { return read(at, data, size); });
}

OwnDescriptor CallingThread::open_file(int descriptor) const {
  if (!process_) {
    process_ = OwnDescriptor(static_cast<int>(syscall(SYS_pidfd_open, thread_, kOfThread)));
    if (!process_ && errno == EINVAL) {  // an older kernel
      process_ = OwnDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process_of_it_, 0)));
    }
    if (!process_) return {};
  }
  return OwnDescriptor(static_cast<int>(syscall(SYS_pidfd_getfd, process_.number(), descriptor, 0)));
}

bool CallingThread::may_exceed_a_file_limit() const {
  const auto limited = [](pid_t process) {
    rlimit found{};
    return prlimit(process, RLIMIT_FSIZE, nullptr, &found) != 0 || found.rlim_cur != RLIM_INFINITY;
  };
  static const bool recorder_is = limited(0);
  return recorder_is || limited(process_of_it_);
}

std::string CallingThread::seen_from_here(int folder, const std::string& path) const {
  const std::string proc = "/proc/" + std::to_string(thread_);
  for (const char* own : {"/proc/self/", "/proc/thread-self/"}) {
    if (path.starts_with(own)) return proc + "/" + path.substr(std::strlen(own));
  }
  if (path.starts_with("/dev/fd/")) return proc + "/fd/" + path.substr(std::strlen("/dev/fd/"));
  if (path.starts_with('/')) return path;
  return (folder == AT_FDCWD ? proc + "/cwd/" : proc + "/fd/" + std::to_string(folder) + "/") + path;
}

Place CallingThread::find(int folder, const std::string& path, bool follows) const {
  Place out;
  std::string whole = seen_from_here(folder, path);
  int base = AT_FDCWD;
  for (int links = 0; links <= kMostLinks; ++links) {
    while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
    const size_t slash = whole.rfind('/');
    const std::string above = slash == std::string::npos ? "." : whole.substr(0, slash + 1);
    OwnDescriptor opened(openat(base, above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    out.folder = std::move(opened);
    out.name = whole.substr(slash == std::string::npos ? 0 : slash + 1);
    if (!out.folder || fstat(out.folder.number(), &out.folder_status) != 0) return Place();
    if (out.name == "." || out.name == "..") out.name.clear();
    out.exists =
        !out.name.empty() && fstatat(out.folder.number(), out.name.c_str(), &out.status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!follows || !out.exists || !S_ISLNK(out.status.st_mode)) return out;
    char target[PATH_MAX];
    const ssize_t size = readlinkat(out.folder.number(), out.name.c_str(), target, sizeof target);
    if (size <= 0) return Place();
    whole.assign(target, static_cast<size_t>(size));
    base = out.folder.number();
  }
  return Place();
}

OwnDescriptor CallingThread::file_at(int folder, const std::string& path) const {
  return OwnDescriptor(open(seen_from_here(folder, path).c_str(), O_PATH | O_CLOEXEC));
}

std::optional<struct stat> CallingThread::status(int folder, const std::string& path, bool follows) const {
  struct stat out{};
  const int flags = follows ? 0 : AT_SYMLINK_NOFOLLOW;
  if (path.empty()) return std::nullopt;
  if (fstatat(AT_FDCWD, seen_from_here(folder, path).c_str(), &out, flags) != 0) return std::nullopt;
  return out;
}

}  // namespace powercut
