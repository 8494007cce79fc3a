#include "checker/subjects/program/trees/tree_server.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace powercut {
namespace {

// Whether a process looks at the folder, and not the kernel alone.
bool looks(std::span<const char> request) {
  fuse_in_header header{};
  std::memcpy(&header, request.data(), std::min(request.size(), sizeof header));
  switch (header.opcode) {
    case FUSE_INIT:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
      return false;
    case FUSE_GETATTR:  // of the folder itself: its owner and mode, which are in all images
      return header.nodeid != FUSE_ROOT_ID;
    default:
      return true;
  }
}

// Tells the kernel to forget something. It need not have it.
void notify(int device, fuse_notify_code what, std::vector<iovec> parts) {
  fuse_out_header header{};
  header.error = what;
  parts.insert(parts.begin(), {&header, sizeof header});
  for (const iovec& part : parts) header.len += static_cast<uint32_t>(part.iov_len);
  [[maybe_unused]] const ssize_t sent = writev(device, parts.data(), static_cast<int>(parts.size()));
}

}  // namespace

Result<std::unique_ptr<TreeServer>> TreeServer::create(const std::string& folder, int processor) {
  auto mount = TreeMount::create(folder);
  if (!mount) return mount.error();
  (*mount)->set_processor(processor);
  std::unique_ptr<TreeServer> out(new TreeServer(std::move(*mount)));
  out->wake_ = eventfd(0, EFD_CLOEXEC);
  // The new thread blocks all signals: other threads wait for signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  out->thread_ = std::thread([server = out.get(), processor] { server->serve(processor); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return out;
}

TreeServer::TreeServer(std::unique_ptr<TreeMount> mount) : mount_(std::move(mount)) {}

TreeServer::~TreeServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(wake_, &one, sizeof one);
  thread_.join();
  close(wake_);
}

void TreeServer::serve(int processor) {
  if (processor >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(processor), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  const int device = mount_->device();
  std::vector<char> request(kFuseRoom);
  for (;;) {
    const ssize_t size = read(device, request.data(), request.size());
    if (size < 0) {
      if (errno == EINTR || errno == ENOENT) continue;  // ENOENT: who asked is gone
      if (errno != EAGAIN) return;                      // ENODEV: the mount is gone
      std::array<pollfd, 2> polled = {pollfd{device, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
      poll(polled.data(), polled.size(), -1);
      if (polled[1].revents != 0) return;
      continue;
    }
    const std::scoped_lock lock(mutex_);
    if (looks({request.data(), static_cast<size_t>(size)})) ++mount_->requests();
    const std::string_view answer = requests_.answer({request.data(), static_cast<size_t>(size)});
    if (!answer.empty()) [[maybe_unused]]
      const ssize_t sent = write(device, answer.data(), answer.size());
  }
}

void TreeServer::take_back_names() {
  fuse_notify_inval_inode_out attributes{};
  attributes.ino = FUSE_ROOT_ID;
  attributes.off = -1;  // no bytes
  notify(mount_->device(), FUSE_NOTIFY_INVAL_INODE, {iovec{&attributes, sizeof attributes}});
  std::set<std::string> names;
  {
    const std::scoped_lock lock(mutex_);
    names = requests_.take_names();
  }
  for (const std::string& name : names) {
    fuse_notify_inval_entry_out entry{};
    entry.parent = FUSE_ROOT_ID;
    entry.namelen = static_cast<uint32_t>(name.size());
    notify(mount_->device(), FUSE_NOTIFY_INVAL_ENTRY,
           {iovec{&entry, sizeof entry}, iovec{const_cast<char*>(name.c_str()), name.size() + 1}});
  }
}

void TreeServer::begin(const ImageTree& tree, const Asked& asked) {
  take_back_names();
  auto run = std::make_shared<RunTree>(tree, asked.keep_changes, asked.first_new);
  const std::scoped_lock lock(mutex_);
  requests_.begin(std::move(run), asked.elsewhere);
}

void TreeServer::ended_behind_a_file() {
  const std::scoped_lock lock(mutex_);
  requests_.run()->ask_opened();
}

std::vector<Observation> TreeServer::observations() const {
  const std::scoped_lock lock(mutex_);
  return requests_.run()->observations();
}

std::vector<files::Effect> TreeServer::changes() const {
  const std::scoped_lock lock(mutex_);
  return requests_.run()->changes();
}

std::unique_ptr<ImageTree> TreeServer::left() const {
  const std::scoped_lock lock(mutex_);
  return RunTree::left(requests_.run());
}

}  // namespace powercut
