#include "tracer/calls/followed_call.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace powercut {
namespace {

constexpr uint64_t kAppends = 0x10, kDoesNotAppend = 0x20, kDataThrough = 0x02,
                   kAllThrough = 0x04;  // RWF_… of pwritev2

// Returns the number of what stands at the name now; 0 if nothing does.
ino_t inode_at(const Place& place) {
  struct stat now{};
  if (!place.folder) return 0;
  return fstatat(place.folder.number(), place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 ? now.st_ino : 0;
}

ino_t inode_before(const Place& place) { return place.exists ? place.status.st_ino : 0; }

std::optional<uint64_t> inode_at_path(const CallingThread& thread, int folder, uint64_t address, bool follows,
                                      const TreeLog& log) {
  const auto path = thread.text(address);
  const auto status = path ? thread.status(folder, *path, follows) : std::nullopt;
  if (!status) return std::nullopt;
  return log.inode_of(*status);
}

}  // namespace

FollowedCall::FollowedCall(const CallingThread& thread, const SystemCall& call, TreeLog& log)
    : call_(call), row_(powercut_file_call_of(call.number)), attributes_(attributes_call(call.number)) {
  if (attributes_ != nullptr) {
    follows_ = look_at_attributes(thread, log);
  } else if (const char* hides = hides_files(call.number)) {
    log.note(TreeNote::kUnknown, hides);
  } else if (row_ != nullptr) {
    follows_ = look(thread, log);
  }
}

int FollowedCall::folder_of(char role) const { return has(role) ? static_cast<int>(value(role)) : AT_FDCWD; }

Place FollowedCall::find(const CallingThread& thread, char folder, char path, bool follows) const {
  const auto text = thread.text(value(path));
  return text && !text->empty() ? thread.find(folder_of(folder), *text, follows) : Place();
}

// A call with a name that is not there, or whose folder is not, fails now. It would succeed if another thread's call
// came in between: the call runs alone as well.
bool FollowedCall::may_be_inside(const Place& place, const TreeLog& log) {
  return !place.folder || log.inode_of(place.folder_status) != 0;
}

bool FollowedCall::look(const CallingThread& thread, TreeLog& log) {
  switch (powercut_call_does_what(row_)) {
    case kPowercutWrites:
    case kPowercutCopies:
      return look_at_write(thread, log);
    case kPowercutAllocates:
    case kPowercutSyncs:
    case kPowercutSyncsRange:
    case kPowercutMaps:
      if (!look_at_file(thread, log)) return false;
      log.catch_up(inode_);
      return true;
    case kPowercutResizes: {
      if (has('d')) return look_at_file(thread, log);
      const auto found = inode_at_path(thread, AT_FDCWD, value('p'), true, log);
      if (found && *found != 0) file_ = thread.file_at(AT_FDCWD, thread.text(value('p')).value_or(""));
      inode_ = found.value_or(0);
      log.catch_up(inode_);
      return !found || inode_ != 0;
    }
    case kPowercutSyncsAll: {
      if (has('d')) {
        struct stat status{};
        if (!open_file(thread, static_cast<int>(value('d')), &status, log) || status.st_dev != log.device()) {
          return false;
        }
      }
      log.catch_up();
      return true;
    }
    case kPowercutSyncsMemory:
      if (!log.has_mappings()) return false;
      log.catch_up();
      return true;
    case kPowercutProtects:
      return log.has_mappings();
    case kPowercutUnmaps:
      log.catch_up();
      return false;
    case kPowercutOpens:
      return look_at_open(thread, log);
    case kPowercutMakes:
      from_ = find(thread, 'F', 'p', false);
      return may_be_inside(from_, log);
    case kPowercutLinks:
      to_ = find(thread, 'G', 'q', false);
      return may_be_inside(to_, log);
    case kPowercutRenames:
      return look_at_rename(thread, log);
    case kPowercutTakes:
    case kPowercutTakesFolder:
      from_ = find(thread, 'F', 'p', false);
      takes_the_folder_ = from_.exists && log.holds_the_folder(from_.status);
      if (takes_the_folder_) return true;
      if (!may_be_inside(from_, log)) return false;
      // Stores through a mapping came before the name goes, as far as anybody knows.
      if (from_.exists) log.catch_up(log.inode_of(from_.status));
      log.keep(from_);
      return true;
    case kPowercutHides:
      log.note(TreeNote::kUnknown, std::string("the program calls ") + row_->name +
                                       ", by which it reaches files otherwise than by names that are followed");
      return false;
    default:
      return false;
  }
}

bool FollowedCall::open_file(const CallingThread& thread, int descriptor, struct stat* status, TreeLog& log) {
  file_ = thread.open_file(descriptor);
  if (file_) return fstat(file_.number(), status) == 0;
  // A descriptor that is not open makes the call fail, and a thread that has gone makes none.
  if (errno != EBADF && errno != ESRCH) {
    log.note(TreeNote::kUnknown,
             std::string("a file that the program has open cannot be looked at: ") + std::strerror(errno));
  }
  return false;
}

bool FollowedCall::look_at_file(const CallingThread& thread, TreeLog& log) {
  const int descriptor = static_cast<int>(value('d'));
  if (descriptor < 0) return false;  // mmap of memory alone
  struct stat status{};
  if (!open_file(thread, descriptor, &status, log)) return false;
  inode_ = log.inode_of(status);
  if (inode_ != 0) return true;
  const auto does = powercut_call_does_what(row_);
  if (!S_ISREG(status.st_mode) || (does != kPowercutWrites && does != kPowercutCopies)) return false;
  told_ = log.told_file(status);
  if (told_ == nullptr && does == kPowercutWrites) log.wrote_elsewhere(file_.number(), status);
  return told_ != nullptr;
}

bool FollowedCall::look_at_write(const CallingThread& thread, TreeLog& log) {
  if (!look_at_file(thread, log)) return false;
  if (told_ == nullptr) {
    log.catch_up(inode_);
  } else if (told_->is_an_instant()) {
    log.catch_up();
  }
  const int opened = fcntl(file_.number(), F_GETFL);
  direct_ = (opened & O_DIRECT) != 0;
  // Only pwritev2 has flags that say how it writes; the flags of splice say nothing about the file.
  const uint64_t flags = powercut_call_does_what(row_) == kPowercutWrites && has('l') ? value('l') : 0;
  if ((opened & O_DSYNC) != 0 || (flags & kDataThrough) != 0) through_ = kThroughData;
  if ((opened & O_SYNC) == O_SYNC || (flags & kAllThrough) != 0) through_ = kThroughAll | kThroughData;
  offset_ = kFromPosition;
  if (has('o')) offset_ = value('o');  // -1: from the position
  if (has('e') && value('e') != 0 && !thread.read(value('e'), &offset_, sizeof offset_)) return false;
  if ((flags & kAppends) != 0 || ((opened & O_APPEND) != 0 && (flags & kDoesNotAppend) == 0)) {
    struct stat status{};
    fstat(file_.number(), &status);
    offset_ = static_cast<uint64_t>(status.st_size);
  }
  return true;
}

bool FollowedCall::look_at_open(const CallingThread& thread, TreeLog& log) {
  uint64_t flags = O_CREAT | O_WRONLY | O_TRUNC;  // those of creat
  if (has('l')) {
    flags = value('l');
  } else if (has('F')) {  // openat2
    open_how how{};
    if (!thread.read(call_.arguments[2], &how, std::min<uint64_t>(sizeof how, call_.arguments[3]))) return false;
    flags = how.flags;
  }
  const auto path = thread.text(value('p'));
  if (!path) return false;
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    const auto status = thread.status(folder_of('F'), *path, true);
    nameless_ = !status || log.inode_of(*status) != 0;
    return nameless_;
  }
  if ((flags & (O_CREAT | O_TRUNC)) == 0) return false;
  const bool follows = (flags & O_NOFOLLOW) == 0 && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
  if (const auto status = thread.status(folder_of('F'), *path, follows)) {
    inode_ = log.inode_of(*status);
    empties_ = (flags & O_TRUNC) != 0;
    if (inode_ != 0 && empties_) file_ = thread.file_at(folder_of('F'), *path);
    return inode_ != 0;
  }
  from_ = find(thread, 'F', 'p', follows);
  makes_ = (flags & O_CREAT) != 0;
  return may_be_inside(from_, log);
}

bool FollowedCall::look_at_rename(const CallingThread& thread, TreeLog& log) {
  from_ = find(thread, 'F', 'p', false);
  to_ = find(thread, 'G', 'q', false);
  for (const Place* place : {&from_, &to_}) {
    if (place->exists && log.holds_the_folder(place->status)) takes_the_folder_ = true;
  }
  if (takes_the_folder_) return true;
  if (!may_be_inside(from_, log) && !may_be_inside(to_, log)) return false;
  log.keep(to_);
  return true;
}

bool FollowedCall::look_at_attributes(const CallingThread& thread, TreeLog& log) {
  const auto& given = call_.arguments;
  std::optional<uint64_t> found;
  switch (attributes_->of) {
    case AttributesOf::kDescriptor: {
      struct stat status{};
      if (open_file(thread, static_cast<int>(given[0]), &status, log)) found = log.inode_of(status);
      break;
    }
    case AttributesOf::kPath:
      found = inode_at_path(thread, AT_FDCWD, given[0], true, log);
      break;
    case AttributesOf::kPathItself:
      found = inode_at_path(thread, AT_FDCWD, given[0], false, log);
      break;
    case AttributesOf::kPathAt:
      found = inode_at_path(thread, static_cast<int>(given[0]), given[1], true, log);
      // Without a path the call is on the descriptor itself: futimens.
      if (!found && static_cast<int>(given[0]) >= 0) {
        struct stat status{};
        const auto path = given[1] == 0 ? std::string() : thread.text(given[1]).value_or("/");
        if (path.empty() && open_file(thread, static_cast<int>(given[0]), &status, log)) found = log.inode_of(status);
      }
      break;
  }
  inode_ = found.value_or(0);
  return inode_ != 0;
}

// Looks at the name again, after the call.
void FollowedCall::look_again(Place& place) {
  place.exists = fstatat(place.folder.number(), place.name.c_str(), &place.status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<int64_t> FollowedCall::make(const CallingThread& thread, TreeLog& log) {
  if (row_ == nullptr || inode_ == 0 || !log.is_of_the_kernel()) return std::nullopt;
  if (powercut_call_does_what(row_) == kPowercutWrites && has('b')) return make_write(thread, log);
  if (powercut_call_does_what(row_) != kPowercutSyncs) return std::nullopt;
  const int64_t result = (syncs_all_of_it() ? fsync(file_.number()) : fdatasync(file_.number())) == 0 ? 0 : -errno;
  after(thread, result, log);
  return result;
}

std::optional<int64_t> FollowedCall::make_write(const CallingThread& thread, TreeLog& log) {
  uint8_t bytes[kMostMade];
  const uint64_t size = value('n');
  // Direct writes need memory that is aligned as the thread has it; the limit on the size of files is the thread's.
  if (size == 0 || size > sizeof bytes || direct_ || thread.may_exceed_a_file_limit()) return std::nullopt;
  if (!thread.read(value('b'), bytes, size)) return std::nullopt;
  const ssize_t done = has('o') ? pwrite(file_.number(), bytes, size, static_cast<off_t>(value('o')))
                                : write(file_.number(), bytes, size);
  if (done < 0) return -errno;
  log.wrote(inode_, written_at(done), std::span(bytes).first(static_cast<size_t>(done)), through_);
  return done;
}

// The place of a write that has ended.
uint64_t FollowedCall::written_at(int64_t size) const {
  return offset_ != kFromPosition ? offset_ : static_cast<uint64_t>(lseek(file_.number(), 0, SEEK_CUR) - size);
}

void FollowedCall::after(const CallingThread& thread, int64_t result, TreeLog& log) {
  // mmap returns an address; all others a number that is no error.
  if (result < 0 && result >= -4095) return;
  if (attributes_ != nullptr) return log.attributes_changed(inode_);
  switch (powercut_call_does_what(row_)) {
    case kPowercutWrites:
    case kPowercutCopies: {
      if (result == 0) return;
      if (told_ != nullptr) return told_->wrote(log, written_at(result), static_cast<uint64_t>(result));
      return log.wrote(inode_, file_.number(), written_at(result), static_cast<uint64_t>(result), through_);
    }
    case kPowercutAllocates:
      return log.allocated(inode_, value('o'), value('n'), static_cast<uint8_t>(value('l')));
    case kPowercutResizes:
      if (log.tree().find(inode_)->size != value('z')) log.resized(inode_, value('z'));
      return;
    case kPowercutSyncs:
      return log.synced(inode_, syncs_all_of_it() ? TreeSync::kFile : TreeSync::kData, 0, 0, 0);
    case kPowercutSyncsRange:
      return log.synced(inode_, TreeSync::kRange, static_cast<unsigned>(value('l')), value('o'), value('n'));
    case kPowercutSyncsAll:
      return log.synced_all();
    case kPowercutSyncsMemory:
      return for_mappings(thread, log, [&](uint64_t inode, uint64_t offset, uint64_t size) {
        log.synced(inode, TreeSync::kMapped, static_cast<unsigned>(value('l')), offset, size);
      });
    case kPowercutProtects:
      return for_mappings(thread, log, [&](uint64_t inode, uint64_t, uint64_t) { log.may_store_to(inode); });
    case kPowercutMaps:
      if ((fcntl(file_.number(), F_GETFL) & O_ACCMODE) != O_RDWR) return;
      log.mapped(inode_, file_);
      if ((value('r') & PROT_WRITE) != 0) log.may_store_to(inode_);
      return;
    case kPowercutOpens:
      return after_open(thread, static_cast<int>(result), log);
    case kPowercutMakes:
      look_again(from_);
      return log.created(from_);
    case kPowercutLinks:
      look_again(to_);
      return log.linked(to_);
    case kPowercutRenames:
      return after_rename(log);
    case kPowercutTakes:
    case kPowercutTakesFolder:
      return after_taking(log);
    default:
      return;
  }
}

bool FollowedCall::cut_off(TreeLog& log) {
  if (row_ == nullptr) return false;
  const bool from_changed = inode_at(from_) != inode_before(from_);
  switch (powercut_call_does_what(row_)) {
    case kPowercutWrites:
    case kPowercutCopies:
    case kPowercutAllocates:
    case kPowercutResizes:
      return inode_ == 0 || log.look_at(inode_, file_);
    case kPowercutOpens:
      if (empties_) return log.look_at(inode_, file_);
      [[fallthrough]];
    case kPowercutMakes:
      if (!from_changed) return true;
      look_again(from_);
      log.created(from_);
      return true;
    case kPowercutLinks:
      if (inode_at(to_) == inode_before(to_)) return true;
      look_again(to_);
      log.linked(to_);
      return true;
    case kPowercutRenames:
      if (from_changed && inode_at(to_) == inode_before(from_)) after_rename(log);
      return true;
    case kPowercutTakes:
    case kPowercutTakesFolder:
      if (from_changed) after_taking(log);
      return true;
    default:
      return true;
  }
}

void FollowedCall::after_open(const CallingThread& thread, int descriptor, TreeLog& log) {
  if (empties_) {
    if (log.tree().find(inode_)->size != 0) log.resized(inode_, 0);
    return;
  }
  if (makes_) {
    look_again(from_);
    return log.created(from_);
  }
  if (!nameless_) return;
  struct stat status{};
  if (open_file(thread, descriptor, &status, log)) log.made_without_name(status);
}

void FollowedCall::after_taking(TreeLog& log) {
  if (takes_the_folder_) return log.lost_the_folder();
  log.unlinked(log.inode_of(from_.folder_status), from_.name);
}

void FollowedCall::after_rename(TreeLog& log) {
  if (takes_the_folder_) return log.lost_the_folder();
  const uint64_t from = log.inode_of(from_.folder_status), to = log.inode_of(to_.folder_status);
  const uint64_t flags = has('l') ? value('l') : 0;
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  // A rename of a file onto another name of the same file does nothing.
  if (to_.exists && from_.status.st_ino == to_.status.st_ino && from_.status.st_dev == to_.status.st_dev) return;
  if ((flags & RENAME_WHITEOUT) != 0) log.note(TreeNote::kUnknown, "a rename left a whiteout, which no model knows");
  if (from != 0 && to != 0) return log.renamed(from, from_.name, to, to_.name, exchange);
  if (from != 0) {
    log.unlinked(from, from_.name);
    if (!exchange) return;
    look_again(from_);
    return log.moved_in(from_);
  }
  if (log.tree().entry(to, to_.name) != 0) log.unlinked(to, to_.name);
  look_again(to_);
  log.moved_in(to_);
}

// The parts of files that the call's range of addresses shows: inode, offset and size.
void FollowedCall::for_mappings(const CallingThread& thread, const TreeLog& log,
                                const std::function<void(uint64_t, uint64_t, uint64_t)>& use) const {
  const uint64_t begin = value('a'), end = begin + value('n');
  const std::string path = "/proc/" + std::to_string(thread.thread()) + "/maps";
  std::FILE* const maps = std::fopen(path.c_str(), "re");
  if (maps == nullptr) return;
  char line[8192];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    uint64_t from = 0, to = 0, offset = 0, inode = 0;
    char permissions[5] = "";
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64, &from, &to, permissions, &offset,
                    &inode) != 5) {
      continue;
    }
    if (permissions[3] != 's' || from >= end || to <= begin) continue;
    // The device of a mapping has another number on some file systems: the inode's number tells enough, since few files
    // of the folder are mapped.
    const struct stat status = [&] {
      struct stat out{};
      out.st_dev = log.device();
      out.st_ino = inode;
      return out;
    }();
    const uint64_t known = log.inode_of(status);
    if (!log.is_mapped(known)) continue;
    const uint64_t first = std::max(from, begin), last = std::min(to, end);
    use(known, offset + (first - from), last - first);
  }
  std::fclose(maps);
}

}  // namespace powercut
