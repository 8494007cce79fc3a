#include "tracer/other_files/file_call.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/process_memory.h"
#include "tracer/file_calls/file_calls.h"

namespace powercut {
namespace {

using Change = FileUse::Change;

constexpr const char* kHidden = "a process that may not be looked into";

// The process that makes a call, and its arguments.
class Caller {
 public:
  explicit Caller(const seccomp_notif& call)
      : thread_(static_cast<pid_t>(call.pid)), proc_("/proc/" + std::to_string(call.pid)), args_(call.data.args) {}

  uint64_t value(int argument) const { return args_[argument]; }
  int descriptor(int argument) const { return static_cast<int>(args_[argument]); }

  bool read(uint64_t address, void* data, size_t size) const {
    const ssize_t done = read_memory(thread_, address, data, size);
    // Anything else than a wrong address or a process that has ended: nobody knows what the call is on.
    refused_ = refused_ || (done < 0 && errno != EFAULT && errno != ESRCH);
    return done == static_cast<ssize_t>(size);
  }

  // Nothing where there is no text: the call will fail.
  std::optional<std::string> text(int argument) const {
    return text_at(args_[argument], [this](uint64_t at, void* data, size_t size) { return read(at, data, size); });
  }

  // The file that a descriptor is open on, or the working folder.
  std::string open_on(int descriptor) const {
    const std::string link = proc_ + (descriptor == AT_FDCWD ? "/cwd" : "/fd/" + std::to_string(descriptor));
    std::error_code wrong;
    const std::string path = std::filesystem::read_symlink(link, wrong).string();
    refused_ = refused_ || (wrong && wrong != std::errc::no_such_file_or_directory);
    return path;
  }

  // Whether something of the process could not be looked at.
  bool refused() const { return refused_; }

  // The path as this process would write it.
  std::string absolute(int folder, const std::string& path) const {
    for (const char* own : {"/proc/self/", "/proc/thread-self/"}) {
      if (path.starts_with(own)) return proc_ + "/" + path.substr(std::strlen(own));
    }
    if (path.starts_with("/dev/fd/")) return proc_ + "/fd/" + path.substr(std::strlen("/dev/fd/"));
    return path.starts_with('/') ? path : open_on(folder) + "/" + path;
  }

 private:
  const pid_t thread_;
  const std::string proc_;
  const __u64* args_;
  mutable bool refused_ = false;
};

// Without links in its folders; the name itself stays. A path that ends in no name becomes that of its folder.
std::string without_links(const std::string& path) {
  std::filesystem::path whole(path);
  while (!whole.has_filename() && whole.has_relative_path()) whole = whole.parent_path();
  const std::filesystem::path name = whole.filename();
  std::error_code wrong;
  if (name.empty() || name == "." || name == "..") return std::filesystem::weakly_canonical(whole, wrong).string();
  return (std::filesystem::weakly_canonical(whole.parent_path(), wrong) / name).string();
}

// One name of a call.
struct Named {
  int folder = -1;  // its argument; -1: relative to the working folder
  int path = 0;
  FileUse use;
  bool follows = false;  // a link at the name is followed
};

FileUse looks() { return {.path = {}, .looks = true}; }
FileUse makes() { return {.path = {}, .looks = true, .change = Change::kMade}; }
FileUse takes() { return {.path = {}, .looks = true, .change = Change::kTaken}; }

FileUse opened(uint64_t flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY, makes = (flags & O_CREAT) != 0, empties = (flags & O_TRUNC) != 0;
  const bool whatever = makes && (flags & O_EXCL) == 0;
  FileUse out;
  out.defines = whatever && empties;
  out.adds = whatever && !empties && (flags & O_APPEND) != 0 && (flags & O_ACCMODE) == O_WRONLY;
  out.looks = !out.defines && !out.adds;
  if (empties) {
    out.change = Change::kContents;
  } else if (writes || makes) {
    out.change = Change::kMaybe;
  }
  return out;
}

std::vector<Named> opens(int folder, int path, uint64_t flags) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return {};  // a file without a name
  return {{folder, path, opened(flags), (flags & (O_NOFOLLOW | O_EXCL)) == 0}};
}

std::vector<Named> renamed(int from_folder, int from, int to_folder, int to, uint64_t flags) {
  FileUse old = takes();
  FileUse target = {.path = {}, .looks = flags != 0, .change = Change::kReplaced, .defines = flags == 0};
  old.tree = target.tree = true;
  return {{from_folder, from, old}, {to_folder, to, target}};
}

// The flags that a call of kPowercutOpens opens with. Nothing where the caller's memory cannot be read.
std::optional<uint64_t> open_flags(const powercut_file_call& call, const Caller& caller) {
  if (call.number == SYS_creat) return O_CREAT | O_WRONLY | O_TRUNC;
  if (call.number != SYS_openat2) return caller.value(powercut_argument(&call, 'l'));
  open_how how{};
  if (!caller.read(caller.value(2), &how, sizeof how)) return std::nullopt;
  return how.flags;
}

std::vector<Named> names_of(const powercut_file_call& call, const Caller& caller) {
  const auto argument = [&](char role) { return powercut_argument(&call, role); };
  const int folder = argument('F'), path = argument('p'), other_folder = argument('G'), other = argument('q');
  const int flags = argument('l');
  switch (powercut_call_does_what(&call)) {
    case kPowercutOpens: {
      const std::optional<uint64_t> how = open_flags(call, caller);
      return how ? opens(folder, path, *how) : std::vector<Named>();
    }
    case kPowercutResizes:
      return {{folder, path, {.path = {}, .looks = true, .change = Change::kContents}, true}};
    case kPowercutTakes:
    case kPowercutTakesFolder:
      return {{folder, path, takes()}};
    case kPowercutMakes:
      return {{folder, path, makes()}};
    case kPowercutRenames:
      return renamed(folder, path, other_folder, other, flags < 0 ? 0 : caller.value(flags));
    case kPowercutLinks:
      return {{folder, path, looks()}, {other_folder, other, makes()}};
    case kPowercutLooks:
      return {{folder, path, looks(), flags < 0 || (caller.value(flags) & AT_SYMLINK_NOFOLLOW) == 0}};
    case kPowercutLooksAtLink:
      return {{folder, path, looks()}};
    case kPowercutExecutes:
      return {{folder, path, looks(), true}};
    default:
      return {};
  }
}

// By what the caller can use files from now on without being seen; empty: it cannot.
std::string unseen_by(const seccomp_notif& call, enum powercut_call_does does) {
  if (call.data.arch != AUDIT_ARCH_X86_64 || call.data.nr >= 0x40000000) return "calls of 32-bit code";
  if (does == kPowercutRings) return "io_uring";
  return does == kPowercutHides ? powercut_file_call_of(static_cast<uint64_t>(call.data.nr))->name : "";
}

FileCall described(const seccomp_notif& call) {
  FileCall out;
  const powercut_file_call* const known = powercut_file_call_of(static_cast<uint64_t>(call.data.nr));
  const enum powercut_call_does does = powercut_call_does_what(known);
  out.unseen = unseen_by(call, does);
  if (!out.unseen.empty() || known == nullptr) return out;
  const Caller caller(call);
  if (does == kPowercutLists) {
    out.uses.push_back({.path = caller.open_on(caller.descriptor(powercut_argument(known, 'd'))), .lists = true});
    if (caller.refused()) out.unseen = kHidden;
    return out;
  }
  for (Named& named : names_of(*known, caller)) {
    const auto path = caller.text(named.path);
    // Without a name the call is on a descriptor, which was opened before.
    if (!path || path->empty()) continue;
    const int folder = named.folder < 0 ? AT_FDCWD : caller.descriptor(named.folder);
    const std::string absolute = caller.absolute(folder, *path);
    FileUse use = std::move(named.use);
    use.path = without_links(absolute);
    struct stat status{};
    if (named.follows && lstat(use.path.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) {
      FileUse link = looks();
      link.path = use.path;
      out.uses.push_back(std::move(link));
      std::error_code wrong;
      use.path = std::filesystem::weakly_canonical(absolute, wrong).string();
    }
    out.uses.push_back(std::move(use));
  }
  if (caller.refused()) out.unseen = kHidden;
  return out;
}

}  // namespace

bool take_file_call(int listener, const std::function<bool(const FileCall&)>& allow) {
  seccomp_notif call{};
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return errno == EINTR || errno == ENOENT;
  const FileCall told = described(call);
  seccomp_notif_resp answer{};
  answer.id = call.id;
  // A caller that has died meanwhile has made no call, and its number may be another's.
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) != 0) return true;
  if (allow(told)) {
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    answer.error = -EROFS;
  }
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return true;
}

}  // namespace powercut
