#include "tracer/calls/tree_log.h"

#include <absl/strings/str_cat.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "tracer/format/layout.h"

namespace powercut {
namespace {

constexpr size_t kPiece = layout::kMaxOperationBytes;
constexpr uint64_t kMostFiles = 100'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr size_t kMostKept = 512;
constexpr uint64_t kMostKeptBytes = uint64_t{64} << 20;
constexpr const char* kReadable = "Record as a user who may read all files of the folder.";
constexpr const char* kSmaller = "Record on a small folder, as the program's own set-up makes one.";
constexpr uint64_t kSector = 512;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

const char* other_kind(mode_t mode) {
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a named pipe";
  return "a device";
}

std::string link_target(int folder, const char* name) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(folder, name, target, sizeof target);
  return {target, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

bool is_zero(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Event TreeLog::event(TreeCall call) const {
  Event out;
  out.kind = kTreeCall;
  out.code = static_cast<uint8_t>(call);
  out.thread = thread_;
  out.stack = stack_;
  out.text = call_;
  return out;
}

bool TreeLog::emit(Event& event) {
  trace_.append(event);
  if (event.code != static_cast<uint8_t>(TreeCall::kWrite) || (event.flags & kTreeContinues) == 0) ++calls_;
  const auto wrong = tree_.apply(event);
  if (!wrong) return true;
  note(TreeNote::kUnknown, absl::StrCat("a recorded call does not fit the folder (", *wrong,
                                        "): another program changes the folder, or a call was not seen"));
  return false;
}

void TreeLog::by(uint32_t thread, std::string_view call, uint32_t stack) {
  thread_ = thread;
  call_ = call;
  stack_ = stack;
}

uint64_t TreeLog::inode_of(const struct stat& status) const {
  if (status.st_dev != device_) return 0;
  const auto found = numbers_.find(key_of(status));
  return found == numbers_.end() ? 0 : found->second;
}

uint64_t TreeLog::fresh(const struct stat& status) {
  numbers_[key_of(status)] = next_;
  return next_++;
}

std::optional<EngineError> TreeLog::begin() {
  const OwnDescriptor root(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!root || fstat(root.number(), &status) != 0) {
    return refused(absl::StrCat("the folder cannot be opened: ", std::strerror(errno)), kReadable);
  }
  device_ = status.st_dev;
  struct statfs system{};
  is_of_the_kernel_ = fstatfs(root.number(), &system) == 0 && system.f_type != FUSE_SUPER_MAGIC;
  numbers_[key_of(status)] = kTreeRoot;
  above_.insert(key_of(status));
  for (std::string up = folder_ + "/.."; stat(up.c_str(), &status) == 0 && above_.insert(key_of(status)).second;) {
    up += "/..";
  }
  by(0, "", 0);
  if (auto wrong = take(root.number(), kTreeRoot)) return wrong;
  Event started = event(TreeCall::kStarted);
  emit(started);
  calls_ = 0;
  return std::nullopt;
}

// Takes what stands in a folder that is recorded already.
EngineError TreeLog::refused(std::string what, const char* next) const {
  return usage_error(std::move(what), folder_, next);
}

std::optional<EngineError> TreeLog::take(int folder, uint64_t number) {
  DIR* const list = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string path = tree_.path_of(number);
  if (list == nullptr) {
    return refused(absl::StrCat("'", shown_name(path), "' cannot be listed: ", std::strerror(errno)), kReadable);
  }
  std::set<std::string> names;
  while (const dirent* entry = readdir(list)) names.insert(entry->d_name);
  closedir(list);
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    const std::string shown = absl::StrCat("'", shown_name(path == "." ? name : path + "/" + name), "'");
    struct stat status{};
    if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return refused(absl::StrCat(shown, " cannot be looked at: ", std::strerror(errno)), kReadable);
    }
    const auto kind = inode_kind(status.st_mode);
    if (!kind) {
      return refused(absl::StrCat(shown, " is ", other_kind(status.st_mode), ", which no model of a file system knows"),
                     "Name a folder that holds files, folders and symbolic links alone.");
    }
    if (status.st_dev != device_) {
      return refused(shown + " lies on another file system than the folder",
                     "Name a folder without mount points below it; a subvolume is such a mount point too.");
    }
    uint64_t inode = inode_of(status);
    const bool is_new = inode == 0;
    if (is_new) {
      if (numbers_.size() >= kMostFiles) {
        return refused(absl::StrCat("the folder holds more than ", kMostFiles, " files, the most that are recorded"),
                       kSmaller);
      }
      const std::string target = *kind == InodeKind::kLink ? link_target(folder, name.c_str()) : "";
      inode = fresh(status);
      Event made = event(TreeCall::kInode);
      made.pool = inode;
      made.flags = static_cast<uint8_t>(*kind);
      made.value = bytes_of(target);
      emit(made);
    }
    Event entry = event(TreeCall::kEntry);
    entry.addr = number;
    entry.key = bytes_of(name);
    entry.pool = inode;
    emit(entry);
    if (!is_new || *kind == InodeKind::kLink) continue;
    const OwnDescriptor file(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file) return refused(absl::StrCat(shown, " cannot be read: ", std::strerror(errno)), kReadable);
    if (*kind == InodeKind::kFile) {
      // Holes take no place.
      bytes_ +=
          std::min<uint64_t>(static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_blocks) * kSector);
      if (bytes_ > kMostBytes) {
        return refused(absl::StrCat("the files of the folder hold more than ", kMostBytes >> 30,
                                    " GiB, the most that is recorded"),
                       kSmaller);
      }
      contents(TreeCall::kContent, inode, file.number(), static_cast<uint64_t>(status.st_size), 0);
    } else if (auto wrong = take(file.number(), inode)) {
      return wrong;
    }
  }
  return std::nullopt;
}

// Records the whole file as writes of this kind. Holes are left out; the size follows where the file ends in one.
void TreeLog::contents(TreeCall call, uint64_t inode, int file, uint64_t size, uint8_t flags) {
  std::vector<uint8_t> bytes(kPiece);
  for (uint64_t at = 0; at < size;) {
    const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    at = std::max(at, static_cast<uint64_t>(std::max<off_t>(data, 0)));
    const ssize_t got = pread(file, bytes.data(), std::min<uint64_t>(kPiece, size - at), static_cast<off_t>(at));
    if (got <= 0) break;
    const auto piece = std::span<const uint8_t>(bytes).first(static_cast<size_t>(got));
    if (!is_zero(piece)) bytes_at(call, inode, at, piece, flags);
    at += piece.size();
  }
  if (tree_.find(inode)->size != size) resized(inode, size);
}

std::string TreeLog::target_of(const Place& place) const {
  return S_ISLNK(place.status.st_mode) ? link_target(place.folder.number(), place.name.c_str()) : "";
}

void TreeLog::created(const Place& place) {
  const auto kind = inode_kind(place.status.st_mode);
  if (!kind) {
    return note(TreeNote::kUnknown, absl::StrCat("the program made ", other_kind(place.status.st_mode), ", '",
                                                 shown_name(place.name), "', which no model of a file system knows"));
  }
  const std::string target = target_of(place);
  Event out = event(TreeCall::kCreate);
  out.addr = inode_of(place.folder_status);
  out.key = bytes_of(place.name);
  out.pool = fresh(place.status);
  out.flags = static_cast<uint8_t>(*kind);
  out.value = bytes_of(target);
  if (!emit(out)) numbers_.erase(key_of(place.status));  // an inode that has a number is in the tree
}

void TreeLog::made_without_name(const struct stat& status) {
  Event out = event(TreeCall::kInode);
  out.pool = fresh(status);
  out.flags = static_cast<uint8_t>(InodeKind::kFile);
  nameless_.insert(out.pool);
  emit(out);
}

void TreeLog::linked(const Place& place) {
  const uint64_t inode = inode_of(place.status);
  const Tree::Inode* const known = tree_.find(inode);
  if (known == nullptr || (known->names == 0 && !nameless_.contains(inode))) return moved_in(place);
  nameless_.erase(inode);
  Event out = event(TreeCall::kLink);
  out.addr = inode_of(place.folder_status);
  out.key = bytes_of(place.name);
  out.pool = inode;
  emit(out);
}

void TreeLog::unlinked(uint64_t folder, const std::string& name) {
  Event out = event(TreeCall::kUnlink);
  out.addr = folder;
  out.key = bytes_of(name);
  emit(out);
  let_kept_go();
}

void TreeLog::renamed(uint64_t folder, const std::string& name, uint64_t new_folder, const std::string& new_name,
                      bool exchange) {
  Event out = event(TreeCall::kRename);
  out.addr = folder;
  out.key = bytes_of(name);
  out.size = new_folder;
  out.value = bytes_of(new_name);
  out.flags = exchange ? 1 : 0;
  emit(out);
  let_kept_go();
}

void TreeLog::moved_in(const Place& place) {
  note(TreeNote::kUnknown, absl::StrCat("'", shown_name(place.name),
                                        "' came from outside of the folder: whether its "
                                        "bytes were synced before was not seen"));
  created(place);
  const OwnDescriptor file(
      openat(place.folder.number(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  const uint64_t inode = inode_of(place.status);
  if (!file || inode == 0) return;
  if (S_ISREG(place.status.st_mode)) {
    contents(TreeCall::kWrite, inode, file.number(), static_cast<uint64_t>(place.status.st_size), 0);
  } else if (S_ISDIR(place.status.st_mode)) {
    if (const auto wrong = take(file.number(), inode)) note(TreeNote::kUnknown, wrong->what);
  }
}

OwnDescriptor TreeLog::reader_of(int file) const {
  return OwnDescriptor(open(absl::StrCat("/proc/self/fd/", file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

void TreeLog::wrote(uint64_t inode, int file, uint64_t offset, uint64_t size, uint8_t flags) {
  const int opened = fcntl(file, F_GETFL);
  OwnDescriptor reader;
  if ((opened & O_ACCMODE) != O_RDWR || (opened & O_DIRECT) != 0) reader = reader_of(file);
  uint8_t small[4096];
  std::vector<uint8_t> large;
  if (size > sizeof small) large.resize(std::min<uint64_t>(size, kPiece));
  const std::span<uint8_t> room = size > sizeof small ? std::span(large) : std::span(small);
  for (uint64_t done = 0; done < size;) {
    const ssize_t got = pread(reader ? reader.number() : file, room.data(),
                              std::min<uint64_t>(room.size(), size - done), static_cast<off_t>(offset + done));
    if (got <= 0) {
      return note(TreeNote::kUnknown,
                  absl::StrCat("what was written to '", shown_name(tree_.path_of(inode)),
                               "' cannot be read back: ", got < 0 ? std::strerror(errno) : "it has gone"));
    }
    wrote(inode, offset + done, room.first(static_cast<size_t>(got)),
          static_cast<uint8_t>(flags | (done == 0 ? 0 : kTreeContinues)));
    done += static_cast<uint64_t>(got);
  }
}

void TreeLog::wrote(uint64_t inode, uint64_t offset, std::span<const uint8_t> bytes, uint8_t flags) {
  bytes_at(TreeCall::kWrite, inode, offset, bytes, flags);
}

void TreeLog::bytes_at(TreeCall call, uint64_t inode, uint64_t offset, std::span<const uint8_t> bytes, uint8_t flags) {
  Event out = event(call);
  out.pool = inode;
  out.addr = offset;
  out.size = bytes.size();
  out.value = bytes;
  out.flags = flags;
  emit(out);
}

void TreeLog::resized(uint64_t inode, uint64_t size) {
  Event out = event(TreeCall::kSize);
  out.pool = inode;
  out.size = size;
  emit(out);
}

void TreeLog::allocated(uint64_t inode, uint64_t offset, uint64_t size, uint8_t mode) {
  Event out = event(TreeCall::kAllocate);
  out.pool = inode;
  out.addr = offset;
  out.size = size;
  out.flags = mode;
  emit(out);
}

void TreeLog::synced(uint64_t inode, TreeSync what, unsigned flags, uint64_t offset, uint64_t size) {
  Event out = event(TreeCall::kSync);
  out.pool = inode;
  out.flags = static_cast<uint8_t>(static_cast<unsigned>(what) | flags << kSyncFlagsShift);
  out.addr = offset;
  out.size = size;
  emit(out);
}

void TreeLog::synced_all() {
  Event out = event(TreeCall::kSyncAll);
  emit(out);
}

void TreeLog::attributes_changed(uint64_t inode) {
  Event out = event(TreeCall::kAttributes);
  out.pool = inode;
  emit(out);
}

void TreeLog::lost_the_folder() {
  note(TreeNote::kUnknown,
       "the program removed or renamed the folder itself, or one above it, and the rest is not recorded: let --files "
       "name a folder that stays");
  lost_ = true;
  numbers_.clear();
  mapped_.clear();
}

void TreeLog::note(TreeNote kind, const std::string& sentence) {
  if (!noted_.insert(sentence).second) return;
  if (kind == TreeNote::kUnknown) missed_.push_back(sentence);
  Event out = event(TreeCall::kNote);
  out.flags = static_cast<uint8_t>(kind);
  out.value = bytes_of(sentence);
  out.text = {};
  trace_.append(out);
}

void TreeLog::ended(bool by_signal, int how) {
  Event out = event(TreeCall::kEnded);
  out.flags = by_signal ? 1 : 0;
  out.size = static_cast<uint64_t>(how);
  out.text = {};
  emit(out);
}

ToldFile* TreeLog::told_file(const struct stat& status) const {
  const auto found = told_.find(key_of(status));
  return found == told_.end() ? nullptr : found->second;
}

void TreeLog::wrote_elsewhere(int file, const struct stat& status) {
  Elsewhere& found = elsewhere_[key_of(status)];
  if (found.writes++ != 0) return;
  char path[PATH_MAX];
  const ssize_t size = readlink(absl::StrCat("/proc/self/fd/", file).c_str(), path, sizeof path);
  found.path.assign(path, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  // Valgrind's own files.
  if (stores_are_told_ && found.path.find("/valgrind_proc_") != std::string::npos) elsewhere_.erase(key_of(status));
}

std::vector<std::string> TreeLog::likely_elsewhere(size_t most) const {
  std::vector<const Elsewhere*> all;
  for (const auto& [key, found] : elsewhere_) all.push_back(&found);
  std::ranges::sort(all, [](const Elsewhere* a, const Elsewhere* b) { return a->writes > b->writes; });
  std::vector<std::string> out;
  for (const Elsewhere* found : all) {
    if (out.size() < most) out.push_back(shown_name(found->path));
  }
  return out;
}

void TreeLog::mapped(uint64_t inode, const OwnDescriptor& file) {
  if (mapped_.contains(inode)) return;
  mapped_[inode] = reader_of(file.number());
}

void TreeLog::may_store_to(uint64_t inode) {
  if (stores_are_told_ || !mapped_.contains(inode)) return;
  note(TreeNote::kIncomplete, "stores through mappings between syncs were not seen; --tracer valgrind sees them");
}

void TreeLog::catch_up(uint64_t inode) {
  // A thread may store before another thread's stores are told, so only the end shows whether one was missed.
  if (stores_are_told_) return;
  const auto found = mapped_.find(inode);
  if (found == mapped_.end()) return;
  const std::string call = std::exchange(call_, "");
  record_differences(inode, found->second, kByMapping);
  call_ = call;
}

bool TreeLog::look_at(uint64_t inode, const OwnDescriptor& file) {
  const OwnDescriptor reader = reader_of(file.number());
  struct stat status{};
  if (!reader || fstat(reader.number(), &status) != 0) return false;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (tree_.find(inode)->size != size) resized(inode, size);
  record_differences(inode, reader, 0);
  return true;
}

void TreeLog::record_differences(uint64_t inode, const OwnDescriptor& reader, uint8_t flags) {
  const Tree::Inode& known = *tree_.find(inode);
  std::vector<uint8_t> real(kPiece), mine(kPiece);
  const SharedHoles holes(reader.number(), known);
  for (uint64_t at = 0; (at = holes.end_from(at)) < known.size; at += kPiece) {
    const ssize_t got =
        pread(reader.number(), real.data(), std::min<uint64_t>(kPiece, known.size - at), static_cast<off_t>(at));
    if (got <= 0) return;
    tree_.read(known, at, std::span(mine).first(static_cast<size_t>(got)));
    // A run of sectors that differ is one write; whole sectors, as a page cache hands them on.
    const uint64_t size = static_cast<uint64_t>(got);
    const auto differs = [&](uint64_t sector) {
      const uint64_t length = std::min(kSector, size - sector);
      return std::memcmp(&real[sector], &mine[sector], length) != 0;
    };
    for (uint64_t first = 0; first < size; first += kSector) {
      if (!differs(first)) continue;
      uint64_t last = first;
      while (last + kSector < size && differs(last + kSector)) last += kSector;
      const uint64_t end = std::min(size, last + kSector);
      Event out = event(TreeCall::kWrite);
      out.pool = inode;
      out.addr = at + first;
      out.size = end - first;
      out.value = std::span(real).subspan(first, end - first);
      out.flags = flags;
      emit(out);
      first = last;
    }
  }
}

void TreeLog::catch_up() {
  for (const auto& [inode, file] : mapped_) catch_up(inode);
}

void TreeLog::keep(const Place& place) {
  if (!place.exists || inode_of(place.status) == 0 || (!S_ISDIR(place.status.st_mode) && place.status.st_nlink > 1))
    return;
  let_kept_go();
  OwnDescriptor kept(openat(place.folder.number(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!kept) return;
  const uint64_t bytes = static_cast<uint64_t>(place.status.st_blocks) * kSector;
  kept_.push_back({key_of(place.status), std::move(kept), bytes});
  kept_bytes_ += bytes;
}

// A file that is kept takes room on the user's disk.
void TreeLog::let_kept_go() {
  while (kept_.size() > kMostKept || kept_bytes_ > kMostKeptBytes) {
    const auto found = numbers_.find(kept_.front().key);
    // A call that failed has left the name, and a new file may have the number.
    if (found != numbers_.end() && tree_.find(found->second)->names == 0) numbers_.erase(found);
    kept_bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

void TreeLog::compare_at_the_end() {
  by(0, "", 0);
  if (lost_) return;
  catch_up();
  constexpr size_t kMost = 3;
  for (const std::string& difference : tree_.differences(folder_, kMost)) {
    note(TreeNote::kUnknown, "somebody else changed the folder, or a call was not seen: " + difference);
  }
}

}  // namespace powercut
