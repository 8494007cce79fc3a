#include "checker/subjects/program/trees/fuse_requests.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace powercut {
namespace {

// Linux 6.6 has these; headers of older kernels do not.
constexpr uint32_t kMinor = 39;
constexpr uint64_t kDirectIoAllowsMappings = 1ULL << 36;

// Seconds for which the kernel may keep an answer: longer than any run.
constexpr uint64_t kLong = 1'000'000;
constexpr uint32_t kFuseBlock = 4096;
constexpr int kSpace = 1 << 20;  // free blocks, and free inodes

// The times of the tree's inodes, which are not part of an image: in 2020, and elsewhere 100 days later.
constexpr time_t kTime = 1'577'836'800, kOtherTime = kTime + 100 * 86'400;

constexpr uint32_t kReads = 4, kWrites = 2, kEnters = 1;

uint32_t type_of(InodeKind kind) {
  return kind == InodeKind::kFolder ? S_IFDIR : kind == InodeKind::kLink ? S_IFLNK : S_IFREG;
}

}  // namespace

struct FuseRequests::Request {
  fuse_in_header header{};
  std::span<const char> body;

  // The value at the body's begin. Zeros stand for what an old kernel does not send.
  template <typename T>
  T start() const {
    T out{};
    std::memcpy(&out, body.data(), std::min(body.size(), sizeof out));
    return out;
  }
  // The text number `which` behind `skipped` bytes.
  std::string_view text(size_t skipped, int which = 0) const {
    std::string_view rest(body.data() + std::min(skipped, body.size()), body.size() - std::min(skipped, body.size()));
    for (; which > 0; --which) rest.remove_prefix(std::min(rest.size(), rest.find('\0') + 1));
    return rest.substr(0, rest.find('\0'));
  }
  // Whether the user of the request has these rights. The superuser has all of them
  // but to execute a file that nobody may execute.
  bool may(const Node& node, uint32_t rights) const {
    const uint32_t mode = node.mode_now();
    if (header.uid == 0) return (rights & kEnters) == 0 || node.kind() == InodeKind::kFolder || (mode & 0111) != 0;
    const uint32_t has = header.uid == node.user.value_or(getuid())    ? mode >> 6
                         : header.gid == node.group.value_or(getgid()) ? mode >> 3
                                                                       : mode;
    return (rights & ~has) == 0;
  }
};

void FuseRequests::begin(std::shared_ptr<RunTree> run, bool elsewhere) {
  first_id_ += run_ == nullptr ? 1 : run_->nodes();
  run_ = std::move(run);
  elsewhere_ = elsewhere;
  listings_.clear();
}

FuseRequests::Node* FuseRequests::node_of(uint64_t id) {
  if (run_ == nullptr) return nullptr;
  if (id == FUSE_ROOT_ID) return &run_->root();
  return id > first_id_ ? run_->node(id - first_id_) : nullptr;
}

std::string_view FuseRequests::answer(std::span<const char> bytes) {
  Request request;
  if (bytes.size() < sizeof request.header) return {};
  std::memcpy(&request.header, bytes.data(), sizeof request.header);
  request.body = bytes.subspan(sizeof request.header);
  out_.assign(sizeof(fuse_out_header), '\0');
  const int wrong = dispatch(request);
  if (wrong < 0) return {};
  if (wrong > 0) out_.resize(sizeof(fuse_out_header));
  const fuse_out_header header = {
      .len = static_cast<uint32_t>(out_.size()), .error = -wrong, .unique = request.header.unique};
  std::memcpy(out_.data(), &header, sizeof header);
  return out_;
}

// Returns -1 where the kernel waits for no answer.
int FuseRequests::dispatch(const Request& request) {
  switch (request.header.opcode) {
    case FUSE_INIT:
      return init(request);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:  // no request takes long
      return -1;
    case FUSE_DESTROY:
    case FUSE_RELEASE:
      return 0;
    case FUSE_RELEASEDIR:
      return close_folder(request);
    case FUSE_STATFS:
      return describe_file_system();
    default:
      break;
  }
  Node* const node = node_of(request.header.nodeid);
  if (node == nullptr) return ESTALE;
  switch (request.header.opcode) {
    case FUSE_LOOKUP:
      return look_up(request, *node);
    case FUSE_GETATTR:
      return attributes(*node);
    case FUSE_SETATTR:
      return set_attributes(request, *node);
    case FUSE_READLINK:
      out_ += node->image.target;
      return 0;
    case FUSE_SYMLINK:
      return make(request, *node, InodeKind::kLink, 0777, request.text(0), request.text(0, 1));
    case FUSE_MKNOD:
      return make_device(request, *node);
    case FUSE_MKDIR:
      return make(request, *node, InodeKind::kFolder, request.start<fuse_mkdir_in>().mode,
                  request.text(sizeof(fuse_mkdir_in)));
    case FUSE_CREATE:
      return create(request, *node, false);
    case FUSE_TMPFILE:
      return create(request, *node, true);
    case FUSE_LINK:
      return link(request, *node);
    case FUSE_UNLINK:
    case FUSE_RMDIR:
      return take_away(request, *node);
    case FUSE_RENAME:
      return rename(request, *node, false);
    case FUSE_RENAME2:
      return rename(request, *node, true);
    case FUSE_OPEN:
      return open(request, *node);
    case FUSE_READ:
      return read(request, *node);
    case FUSE_WRITE:
      return write(request, *node);
    case FUSE_FALLOCATE:
      return allocate(request, *node);
    case FUSE_FSYNC:
    case FUSE_FSYNCDIR:
      return sync(request, *node);
    case FUSE_ACCESS:
      return access(request, *node);
    case FUSE_OPENDIR:
      return open_folder(request, *node);
    case FUSE_READDIR:
      return list(request, *node);
    default:
      return ENOSYS;
  }
}

int FuseRequests::init(const Request& request) {
  const auto in = request.start<fuse_init_in>();
  const uint64_t offered = in.flags | static_cast<uint64_t>(in.flags2) << 32;
  const uint64_t wanted = (FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_INIT_EXT |
                           kDirectIoAllowsMappings | FUSE_PARALLEL_DIROPS) &
                          offered;
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = std::min(kMinor, in.minor);
  out.flags = static_cast<uint32_t>(wanted);
  out.flags2 = static_cast<uint32_t>(wanted >> 32);
  out.max_write = kFuseMost;
  out.max_pages = kFuseMost / kFuseBlock;
  out.time_gran = 1;
  put(out);
  return 0;
}

void FuseRequests::fill(const Node& node, fuse_attr* out) const {
  *out = {};
  out->ino = shown(node.inode);
  out->size = node.kind() == InodeKind::kFolder ? kFuseBlock
              : node.kind() == InodeKind::kLink ? node.image.target.size()
                                                : node.size_now();
  out->blocks = (out->size + 511) / 512;
  out->blksize = kFuseBlock;
  out->mode = type_of(node.kind()) | node.mode_now();
  // A folder has one link, as on btrfs: stat() should not tell how many folders it holds.
  out->nlink = node.kind() == InodeKind::kFolder ? 1 : node.links_now();
  out->uid = node.user.value_or(getuid());
  out->gid = node.group.value_or(getgid());
  const timespec usual = {elsewhere_ ? kOtherTime : kTime, 0};
  const timespec accessed = node.accessed.value_or(usual), written = node.written.value_or(usual),
                 changed = node.changed.value_or(usual);
  out->atime = static_cast<uint64_t>(accessed.tv_sec);
  out->atimensec = static_cast<uint32_t>(accessed.tv_nsec);
  out->mtime = static_cast<uint64_t>(written.tv_sec);
  out->mtimensec = static_cast<uint32_t>(written.tv_nsec);
  out->ctime = static_cast<uint64_t>(changed.tv_sec);
  out->ctimensec = static_cast<uint32_t>(changed.tv_nsec);
}

void FuseRequests::put_entry(Node& node) {
  fuse_entry_out out{};
  out.nodeid = id_of(node);
  out.entry_valid = kLong;
  // The attributes stand here for the kernel alone. It asks again when a program wants to know them.
  out.attr_valid = node.told() ? kLong : 0;
  fill(node, &out.attr);
  put(out);
}

void FuseRequests::met(const Node& folder, std::string_view name) {
  if (folder.index == 0) names_.emplace(name);
}

int FuseRequests::look_up(const Request& request, Node& folder) {
  if (!request.may(folder, kEnters)) return EACCES;
  const std::string_view name = request.text(0);
  Node* found = nullptr;
  const int wrong = run_->look_up(folder, name, &found);
  if (wrong != 0 && wrong != ENOENT) return wrong;
  met(folder, name);
  if (wrong == 0) {
    put_entry(*found);
  } else {
    fuse_entry_out none{};
    none.entry_valid = kLong;
    put(none);
  }
  return 0;
}

int FuseRequests::attributes(Node& node) {
  run_->ask(node);
  fuse_attr_out out{};
  out.attr_valid = kLong;
  fill(node, &out.attr);
  put(out);
  return 0;
}

int FuseRequests::set_attributes(const Request& request, Node& node) {
  const auto in = request.start<fuse_setattr_in>();
  const bool owner = request.header.uid == 0 || request.header.uid == node.user.value_or(getuid());
  const bool opened = (in.valid & FATTR_FH) != 0;
  if ((in.valid & FATTR_SIZE) != 0 && !opened && !request.may(node, kWrites)) return EACCES;
  if ((in.valid & (FATTR_MODE | FATTR_UID | FATTR_GID)) != 0 && !owner) return EPERM;
  const bool chooses_times = (in.valid & (FATTR_ATIME | FATTR_MTIME)) != 0;
  const bool now = (in.valid & FATTR_ATIME_NOW) != 0 && (in.valid & FATTR_MTIME_NOW) != 0;
  if (chooses_times && !owner && !(now && request.may(node, kWrites))) return now ? EACCES : EPERM;
  if (request.header.uid != 0 && (in.valid & FATTR_UID) != 0 && in.uid != request.header.uid) return EPERM;
  if ((in.valid & FATTR_SIZE) != 0) run_->resize(node, in.size);
  if ((in.valid & FATTR_MODE) != 0) node.mode = in.mode & 07777;
  if ((in.valid & FATTR_UID) != 0) node.user = in.uid;
  if ((in.valid & FATTR_GID) != 0) node.group = in.gid;
  const auto set_time = [&](uint32_t set, uint32_t set_now, uint64_t seconds, uint32_t nanoseconds,
                            std::optional<timespec>* time) {
    if ((in.valid & set) == 0) return;
    timespec chosen = {static_cast<time_t>(seconds), static_cast<long>(nanoseconds)};
    if ((in.valid & set_now) != 0) clock_gettime(CLOCK_REALTIME, &chosen);
    *time = chosen;
  };
  set_time(FATTR_ATIME, FATTR_ATIME_NOW, in.atime, in.atimensec, &node.accessed);
  set_time(FATTR_MTIME, FATTR_MTIME_NOW, in.mtime, in.mtimensec, &node.written);
  if ((in.valid & (FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_ATIME | FATTR_MTIME)) != 0) run_->attributes(node);
  fuse_attr_out out{};
  out.attr_valid = node.told() ? kLong : 0;
  fill(node, &out.attr);
  put(out);
  return 0;
}

int FuseRequests::make(const Request& request, Node& folder, InodeKind kind, uint32_t mode, std::string_view name,
                       std::string_view target) {
  if (!request.may(folder, kWrites | kEnters)) return EACCES;
  Node* made = nullptr;
  const ImageNode what = {.kind = kind, .mode = mode & 07777, .target = std::string(target)};
  if (const int wrong = run_->make(folder, name, what, &made)) return wrong;
  made->user = request.header.uid;
  made->group = request.header.gid;
  met(folder, name);
  put_entry(*made);
  return 0;
}

int FuseRequests::make_device(const Request& request, Node& folder) {
  const auto in = request.start<fuse_mknod_in>();
  if (!S_ISREG(in.mode)) return EPERM;
  return make(request, folder, InodeKind::kFile, in.mode, request.text(sizeof in));
}

int FuseRequests::create(const Request& request, Node& folder, bool nameless) {
  const auto in = request.start<fuse_create_in>();
  const std::string_view name = nameless ? std::string_view() : request.text(sizeof in);
  Node* found = nullptr;
  if (!nameless && run_->look_up(folder, name, &found) == 0) {
    if ((in.flags & O_EXCL) != 0) return EEXIST;
    if ((in.flags & O_TRUNC) != 0) run_->resize(*found, 0);
    found->opened = true;
    put_entry(*found);
  } else if (const int wrong = make(request, folder, InodeKind::kFile, in.mode, name)) {
    return wrong;
  }
  put(fuse_open_out{0, FOPEN_DIRECT_IO, 0});
  return 0;
}

int FuseRequests::link(const Request& request, Node& folder) {
  if (!request.may(folder, kWrites | kEnters)) return EACCES;
  const auto in = request.start<fuse_link_in>();
  Node* const node = node_of(in.oldnodeid);
  if (node == nullptr) return ESTALE;
  const std::string_view name = request.text(sizeof in);
  if (const int wrong = run_->link(*node, folder, name)) return wrong;
  met(folder, name);
  put_entry(*node);
  return 0;
}

int FuseRequests::take_away(const Request& request, Node& folder) {
  if (!request.may(folder, kWrites | kEnters)) return EACCES;
  const std::string_view name = request.text(0);
  met(folder, name);
  return request.header.opcode == FUSE_RMDIR ? run_->remove_folder(folder, name) : run_->unlink(folder, name);
}

int FuseRequests::rename(const Request& request, Node& folder, bool with_flags) {
  const auto in = request.start<fuse_rename2_in>();
  const size_t skipped = with_flags ? sizeof(fuse_rename2_in) : sizeof(fuse_rename_in);
  Node* const to = node_of(in.newdir);
  if (to == nullptr) return ESTALE;
  if (!request.may(folder, kWrites | kEnters) || !request.may(*to, kWrites | kEnters)) return EACCES;
  const std::string_view name = request.text(skipped), to_name = request.text(skipped, 1);
  met(folder, name);
  met(*to, to_name);
  return run_->rename(folder, name, *to, to_name, with_flags ? in.flags : 0);
}

int FuseRequests::open(const Request& request, Node& node) {
  const auto in = request.start<fuse_open_in>();
  const uint32_t way = in.flags & O_ACCMODE;
  const uint32_t rights = (way != O_WRONLY ? kReads : 0) | (way != O_RDONLY ? kWrites : 0);
  // 040 is FMODE_EXEC: the kernel opens a program to execute it, and has looked at the mode.
  if ((in.flags & 040) == 0 && !request.may(node, rights)) return EACCES;
  if ((in.flags & O_TRUNC) != 0) run_->resize(node, 0);
  node.opened = node.opened || way != O_WRONLY;
  put(fuse_open_out{0, FOPEN_DIRECT_IO, 0});
  return 0;
}

int FuseRequests::read(const Request& request, Node& node) {
  const auto in = request.start<fuse_read_in>();
  // A read for a page of the cache has no owner of locks.
  const bool by_page = (in.read_flags & FUSE_READ_LOCKOWNER) == 0;
  out_ += run_->read(node, in.offset, std::min<uint64_t>(in.size, kFuseMost), by_page);
  return 0;
}

int FuseRequests::write(const Request& request, Node& node) {
  const auto in = request.start<fuse_write_in>();
  const auto bytes = request.body.subspan(std::min(sizeof in, request.body.size()));
  if (bytes.size() < in.size) return EIO;
  const bool by_page = (in.write_flags & FUSE_WRITE_CACHE) != 0;
  const bool appends = !by_page && (in.flags & O_APPEND) != 0;
  const auto through = by_page                         ? files::Through::kNone
                       : (in.flags & O_SYNC) == O_SYNC ? files::Through::kAll
                       : (in.flags & O_DSYNC) != 0     ? files::Through::kData
                                                       : files::Through::kNone;
  run_->write(node, in.offset, {reinterpret_cast<const uint8_t*>(bytes.data()), in.size}, appends, through);
  put(fuse_write_out{in.size, 0});
  return 0;
}

int FuseRequests::allocate(const Request& request, Node& node) {
  const auto in = request.start<fuse_fallocate_in>();
  constexpr uint32_t known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE;
  if ((in.mode & ~known) != 0) return EOPNOTSUPP;
  return run_->allocate(node, in.offset, in.length, in.mode);
}

int FuseRequests::sync(const Request& request, Node& node) {
  const bool data = (request.start<fuse_fsync_in>().fsync_flags & FUSE_FSYNC_FDATASYNC) != 0;
  run_->sync(node, data ? files::SyncKind::kData : files::SyncKind::kFile);
  return 0;
}

int FuseRequests::access(const Request& request, Node& node) {
  return request.may(node, request.start<fuse_access_in>().mask & 7) ? 0 : EACCES;
}

int FuseRequests::open_folder(const Request& request, Node& node) {
  if (!request.may(node, kReads)) return EACCES;
  listings_[next_listing_] = {};
  put(fuse_open_out{next_listing_++, 0, 0});
  return 0;
}

int FuseRequests::list(const Request& request, Node& node) {
  const auto in = request.start<fuse_read_in>();
  const auto found = listings_.find(in.fh);
  if (found == listings_.end()) return EBADF;
  Listing& listing = found->second;
  if (in.offset == 0 || !std::exchange(listing.read, true)) {
    const uint64_t above = node.parent == nullptr ? node.inode : node.parent->inode;
    listing.read = true;
    listing.names = run_->list(node);
    if (elsewhere_) std::ranges::reverse(listing.names);
    const std::array<RunTree::Named, 2> always = {RunTree::Named{".", node.inode, InodeKind::kFolder},
                                                  RunTree::Named{"..", above, InodeKind::kFolder}};
    listing.names.insert(listing.names.begin(), always.begin(), always.end());
  }
  for (uint64_t i = in.offset; i < listing.names.size(); ++i) {
    const RunTree::Named& one = listing.names[i];
    fuse_dirent entry{};
    entry.ino = shown(one.inode);
    entry.off = i + 1;
    entry.namelen = static_cast<uint32_t>(one.name.size());
    entry.type = type_of(one.kind) >> 12;
    const size_t room = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + one.name.size());
    if (out_.size() - sizeof(fuse_out_header) + room > in.size) break;
    const size_t end = out_.size() + room;
    out_.append(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET);
    out_ += one.name;
    out_.resize(end, '\0');
  }
  return 0;
}

int FuseRequests::close_folder(const Request& request) {
  listings_.erase(request.start<fuse_release_in>().fh);
  return 0;
}

int FuseRequests::describe_file_system() {
  fuse_statfs_out out{};
  out.st.blocks = out.st.files = 2 * kSpace;
  out.st.bfree = out.st.bavail = out.st.ffree = kSpace;
  out.st.bsize = out.st.frsize = kFuseBlock;
  out.st.namelen = 255;
  put(out);
  return 0;
}

}  // namespace powercut
