#include "checker/subjects/program/processes/tree_mount.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "checker/subjects/program/forkserver/tree_mount.h"
#include "checker/subjects/program/processes/beside_engine.h"
#include "tracer/other_files/call_filter.h"

namespace powercut {
namespace {

// The helper's end of the socket.
constexpr int kSocket = 198;

// The descriptors of this object are above those that a server is given (run_server.cc), so none takes another's place.
constexpr int kLeastDescriptor = 256;

// Returns a descriptor of that number at least, in the place of the other one.
int lifted(int descriptor) {
  const int out = fcntl(descriptor, F_DUPFD_CLOEXEC, kLeastDescriptor);
  if (out < 0) return descriptor;
  close(descriptor);
  return out;
}

// Starts the helper. Returns its process, or -1 with errno.
pid_t start_helper(const std::string& folder, int socket) {
  std::array<std::string, 4> words = {run_server_program(), POWERCUT_TREE_MOUNT, std::to_string(kSocket), folder};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, kSocket);
  pid_t process = -1;
  const int wrong = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (wrong == 0) return process;
  errno = wrong;
  return -1;
}

}  // namespace

Result<std::unique_ptr<TreeMount>> TreeMount::create(const std::string& folder) {
  std::unique_ptr<TreeMount> out(new TreeMount);
  std::error_code wrong;
  out->folder_ = std::filesystem::canonical(folder, wrong).string();
  if (wrong) return usage_error("is not there (" + wrong.message() + ")", folder, "Name a folder that exists.");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return harness_error(std::string("no socket can be made (") + std::strerror(errno) + ")", folder,
                         "Look at the limit of open files (ulimit -n).");
  }
  const pid_t helper = start_helper(out->folder_, ends[1]);
  const int not_started = errno;
  close(ends[1]);
  if (helper < 0) {
    close(ends[0]);
    return harness_error(std::string("cannot be started (") + std::strerror(not_started) + ")", run_server_program(),
                         "Run 'make build'.");
  }
  std::array<int, kPowercutTreeParts> parts = {-1, -1, -1}, errors = {};
  for (size_t i = 0; i < parts.size() && (i == 0 || parts[0] >= 0); ++i) {
    parts[i] = powercut_receive_listener(ends[0]);
    errors[i] = parts[i] < 0 ? errno : 0;
    if (parts[i] >= 0) parts[i] = lifted(parts[i]);
  }
  close(ends[0]);
  waitpid(helper, nullptr, 0);
  out->device_ = parts[kPowercutTreeDevice];
  out->mounts_ = parts[kPowercutTreeMounts];
  out->users_ = parts[kPowercutTreeUsers];
  for (const int error : errors) {
    if (error == 0) continue;
    return usage_error(
        std::string("crash images of a folder are served by a FUSE file system, which cannot be mounted "
                    "here in a mount namespace (") +
            std::strerror(error) + ")",
        folder,
        "It takes /dev/fuse, readable and writable, and either root with CAP_SYS_ADMIN or a kernel that "
        "lets users make namespaces (sysctl user.max_user_namespaces). A container needs the device and the "
        "capability SYS_ADMIN.");
  }
  return out;
}

TreeMount::~TreeMount() {
  for (const int part : {mounts_, users_, device_}) {
    if (part >= 0) close(part);
  }
}

}  // namespace powercut
