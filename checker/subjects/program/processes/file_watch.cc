#include "checker/subjects/program/processes/file_watch.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tracer/other_files/changed_files.h"

namespace powercut {
namespace {

// Linux 6.6 has SECCOMP_IOCTL_NOTIF_SET_FLAGS and SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP.
constexpr unsigned long kSetFlags = _IOW('!', 4, uint64_t);
constexpr uint64_t kWakeTogether = 1;

std::string without_links(const std::string& path) {
  std::error_code wrong;
  return std::filesystem::weakly_canonical(path, wrong).string();
}

std::string folder_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

bool may_be_saved(const std::string& path) {
  struct stat status{};
  if (is_below(path, {"/proc", "/sys"})) return false;
  return lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ||
         S_ISLNK(status.st_mode);
}

std::vector<std::string> listed(const std::set<std::string>& texts) { return {texts.begin(), texts.end()}; }

}  // namespace

FileWatch::FileWatch(const std::vector<OtherFile>& changed, DataFolders data, const std::string& work,
                     const std::string& saved)
    : work_folder_(without_links(work)), saved_(saved), data_(std::move(data)) {
  for (const OtherFile& file : changed) changed_[file.path] = file.named;
  wake_ = eventfd(0, EFD_CLOEXEC);
  events_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = wake_}};
  epoll_ctl(events_, EPOLL_CTL_ADD, wake_, &wanted);
  // The new thread blocks all signals: other threads wait for signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { this->work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FileWatch::~FileWatch() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = write(wake_, &one, sizeof one);
  thread_.join();
  for (const auto& [descriptor, place] : listeners_) close(descriptor);
  close(events_);
  close(wake_);
}

FileWatch::Place FileWatch::add_place(std::vector<Image> images) {
  for (Image& one : images) one.image = without_links(one.image);
  const std::scoped_lock lock(mutex_);
  places_.push_back(std::move(images));
  own_.emplace_back();
  return places_.size() - 1;
}

FileWatch::Place FileWatch::add_tree(const std::string& tree) {
  const Place out = add_place({});
  const std::scoped_lock lock(mutex_);
  trees_[out] = without_links(tree);
  return out;
}

void FileWatch::begin(Place place) {
  const std::scoped_lock lock(mutex_);
  own_[place].clear();
}

void FileWatch::listen(int listener, Place place) {
  // The process that is woken runs next on the waker's processor, where the kernel can do so.
  ioctl(listener, kSetFlags, kWakeTogether);
  const std::scoped_lock lock(mutex_);
  listeners_[listener] = place;
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener}};
  epoll_ctl(events_, EPOLL_CTL_ADD, listener, &wanted);
}

void FileWatch::unwatched(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  // If the program has changed no other file, there is no file that the commands could depend on.
  if (!changed_.empty()) troubles_.insert("what the commands do to other files could not be watched (" + why + ")");
}

void FileWatch::work() {
  for (;;) {
    std::array<epoll_event, 16> ready{};
    const int count = epoll_wait(events_, ready.data(), ready.size(), -1);
    for (int i = 0; i < count; ++i) {
      const epoll_event& one = ready[static_cast<size_t>(i)];
      const int descriptor = one.data.fd;
      if (descriptor == wake_) return;
      Place place;
      {
        const std::scoped_lock lock(mutex_);
        place = listeners_[descriptor];
      }
      const bool some = (one.events & EPOLLIN) != 0;
      if (some && take_file_call(descriptor, [&](const FileCall& call) { return take(call, place); })) continue;
      epoll_ctl(events_, EPOLL_CTL_DEL, descriptor, nullptr);
      const std::scoped_lock lock(mutex_);
      listeners_.erase(descriptor);
      close(descriptor);
    }
  }
}

bool FileWatch::take(const FileCall& call, Place place) {
  const std::scoped_lock lock(mutex_);
  if (!call.unseen.empty() && !changed_.empty()) {
    troubles_.insert("a command can use files by " + call.unseen + ", and that is not seen");
  }
  bool allowed = true;
  for (const FileUse& one : call.uses) allowed = use(one, place) && allowed;
  return allowed;
}

bool FileWatch::use(const FileUse& use, Place place) {
  if (const auto tree = trees_.find(place); tree != trees_.end() && is_below(use.path, {tree->second})) return true;
  for (const Image& image : places_[place]) {
    if (use.path == image.image) return true;
    const std::string folder = folder_of(image.image);
    if (!is_below(use.path, {folder})) continue;
    // Files in the image's folder are removed after each image.
    look(use, folder_of(image.pool) + use.path.substr(folder.size()), place);
    return true;
  }
  if (is_below(use.path, {work_folder_})) return true;
  look(use, use.path, place);
  if (use.change == FileUse::Change::kNone || !may_be_saved(use.path)) return true;
  // Files of the recorded program are put back as well, wherever they lie.
  if (!data_.comes_back(use) && !has_changed(use.path, false)) return true;
  if (saved_.save(use.path, use.tree)) return true;
  troubles_.insert("a command was kept from changing " + use.path + ", which could not be saved before (" +
                   std::strerror(errno) + ")");
  return false;
}

void FileWatch::look(const FileUse& use, const std::string& path, Place place) {
  if (changed_.empty()) return;
  std::set<std::string>& own = own_[place];
  const bool depends = !own.contains(path) && has_changed(path, use.lists);
  if (depends && (use.looks || use.lists)) met_.insert(use.lists ? "the names in " + path : path);
  if (depends && use.adds) added_.insert(path);
  if (use.defines || use.change == FileUse::Change::kTaken) own.insert(path);
}

bool FileWatch::has_changed(const std::string& path, bool lists) const {
  if (lists) {
    return std::ranges::any_of(changed_,
                               [&](const auto& file) { return file.second && folder_of(file.first) == path; });
  }
  if (changed_.contains(path)) return true;
  // Files below a folder have come or gone with its name.
  return std::ranges::any_of(changed_, [&](const auto& file) { return file.second && is_below(path, {file.first}); });
}

std::vector<std::string> FileWatch::met() const {
  const std::scoped_lock lock(mutex_);
  return listed(met_);
}

std::vector<std::string> FileWatch::added() const {
  const std::scoped_lock lock(mutex_);
  return listed(added_);
}

std::vector<std::string> FileWatch::troubles() const {
  const std::scoped_lock lock(mutex_);
  return listed(troubles_);
}

bool FileWatch::clear() const {
  const std::scoped_lock lock(mutex_);
  return met_.empty() && troubles_.empty();
}

}  // namespace powercut
