#include "tracer/calls/tree.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>

#include "tracer/calls/own_descriptor.h"

namespace powercut {
namespace {

std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// Returns the bytes of the UTF-8 letter that the text begins with; 0 if it begins with none.
size_t letter_size(std::string_view text) {
  const auto first = static_cast<uint8_t>(text.front());
  const size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text.size() < size) return 0;
  uint32_t letter = first & (0xff >> (size == 1 ? 0 : size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
    letter = letter << 6 | (text[i] & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = letter >= 0xd800 && letter < 0xe000;
  return letter < kLeast[size] || letter > 0x10ffff || surrogate ? 0 : size;
}

}  // namespace

std::optional<InodeKind> inode_kind(mode_t mode) {
  if (S_ISREG(mode)) return InodeKind::kFile;
  if (S_ISDIR(mode)) return InodeKind::kFolder;
  if (S_ISLNK(mode)) return InodeKind::kLink;
  return std::nullopt;
}

SharedHoles::SharedHoles(int file, const Tree::Inode& known) : file_(file), size_(known.size) {
  for (const auto& [number, page] : known.pages) pages_.push_back(number);
  std::ranges::sort(pages_);
}

uint64_t SharedHoles::end_from(uint64_t at) const {
  const off_t data = lseek(file_, static_cast<off_t>(at), SEEK_DATA);
  uint64_t next = at;  // a file system that knows no holes
  if (data >= 0) next = static_cast<uint64_t>(data);
  if (data < 0 && errno == ENXIO) next = size_;
  const auto page = std::ranges::lower_bound(pages_, at / Tree::kPage);
  if (page != pages_.end()) next = std::min(next, *page * Tree::kPage);
  return std::max(next, at);
}

std::string shown_name(const std::string& name) {
  std::string out;
  for (std::string_view rest = name; !rest.empty();) {
    const size_t size = letter_size(rest);
    const std::string_view letter = rest.substr(0, std::max<size_t>(size, 1));
    const bool printable = size > 1 || (size == 1 && absl::ascii_isprint(static_cast<unsigned char>(letter.front())));
    out += printable ? std::string(letter) : absl::CHexEscape(std::string(letter));
    rest.remove_prefix(letter.size());
  }
  return out;
}

Tree::Tree() { inodes_[kTreeRoot].kind = InodeKind::kFolder; }

const Tree::Inode* Tree::find(uint64_t inode) const { return const_cast<Tree*>(this)->known(inode); }

Tree::Inode* Tree::known(uint64_t inode) {
  const auto found = inodes_.find(inode);
  return found == inodes_.end() ? nullptr : &found->second;
}

uint64_t Tree::entry(uint64_t folder, const std::string& name) const {
  const Inode* const known = find(folder);
  if (known == nullptr) return 0;
  const auto found = known->entries.find(name);
  return found == known->entries.end() ? 0 : found->second;
}

std::string Tree::path_of(uint64_t inode) const {
  std::string path;
  // A folder that was moved into one below it cannot be: the depth is bounded by the number of inodes.
  for (size_t depth = 0; inode != kTreeRoot && depth <= inodes_.size(); ++depth) {
    const Inode* const known = find(inode);
    if (known == nullptr || known->name.empty()) return path.empty() ? "a file without a name" : path;
    path = path.empty() ? known->name : known->name + "/" + path;
    inode = known->folder;
  }
  return path.empty() ? "." : path;
}

void Tree::enter(uint64_t folder, const std::string& name, uint64_t inode) {
  inodes_[folder].entries[name] = inode;
  Inode& known = inodes_[inode];
  ++known.names;
  known.folder = folder;
  known.name = name;
}

void Tree::leave(uint64_t folder, const std::string& name) {
  auto& entries = inodes_[folder].entries;
  const auto found = entries.find(name);
  --inodes_[found->second].names;
  entries.erase(found);
}

void Tree::read(const Inode& file, uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const size_t within = offset % kPage, size = std::min(out.size(), kPage - within);
    const auto page = file.pages.find(offset / kPage);
    if (page == file.pages.end()) {
      std::memset(out.data(), 0, size);
    } else {
      std::memcpy(out.data(), page->second->data() + within, size);
    }
    out = out.subspan(size);
    offset += size;
  }
}

void Tree::write(Inode& file, uint64_t offset, std::span<const uint8_t> bytes) {
  file.size = std::max(file.size, offset + bytes.size());
  while (!bytes.empty()) {
    const size_t within = offset % kPage, size = std::min(bytes.size(), kPage - within);
    auto& page = file.pages[offset / kPage];
    if (page == nullptr) page = std::make_unique<std::array<uint8_t, kPage>>();
    std::memcpy(page->data() + within, bytes.data(), size);
    bytes = bytes.subspan(size);
    offset += size;
  }
}

void Tree::zero(Inode& file, uint64_t offset, uint64_t length) {
  const uint64_t end = offset + length;
  std::erase_if(file.pages, [&](auto& page) {
    const uint64_t from = page.first * kPage, to = from + kPage;
    if (from >= end || to <= offset) return false;
    if (from >= offset && to <= end) return true;
    const uint64_t first = std::max(from, offset), last = std::min(to, end);
    std::memset(page.second->data() + (first - from), 0, last - first);
    return false;
  });
}

void Tree::resize(Inode& file, uint64_t size) {
  if (size < file.size) zero(file, size, UINT64_MAX - kPage - size);
  file.size = size;
}

std::optional<std::string> Tree::allocate(Inode& file, const Event& call) {
  const uint64_t end = call.addr + call.size;
  const int mode = call.flags;
  if ((mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0) {
    // Whole blocks move: a file of this size is in memory as it is.
    if (call.addr > file.size) return "fallocate moves blocks behind the end of the file";
    std::vector<uint8_t> tail(file.size - std::min(file.size, (mode & FALLOC_FL_COLLAPSE_RANGE) ? end : call.addr));
    read(file, file.size - tail.size(), tail);
    const uint64_t to = (mode & FALLOC_FL_COLLAPSE_RANGE) ? call.addr : end;
    resize(file, call.addr);
    write(file, to, tail);
    file.size = to + tail.size();
    return std::nullopt;
  }
  if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) zero(file, call.addr, call.size);
  if ((mode & FALLOC_FL_KEEP_SIZE) == 0) file.size = std::max(file.size, end);
  return std::nullopt;
}

std::optional<std::string> Tree::apply(const Event& call) {
  const auto kind = static_cast<TreeCall>(call.code);
  const std::string name = text_of(call.key);
  const auto unknown = [&](uint64_t inode) { return absl::StrCat("nobody knows inode ", inode); };
  const auto folder_of = [&](uint64_t number) {
    const Inode* const found = find(number);
    return found != nullptr && found->kind == InodeKind::kFolder ? found : nullptr;
  };
  switch (kind) {
    case TreeCall::kInode:
      if (call.pool == kTreeRoot) return std::nullopt;
      if (find(call.pool) != nullptr) return absl::StrCat("inode ", call.pool, " is there already");
      inodes_[call.pool].kind = static_cast<InodeKind>(call.flags);
      inodes_[call.pool].target = text_of(call.value);
      return std::nullopt;
    case TreeCall::kCreate:
      if (folder_of(call.addr) == nullptr) return unknown(call.addr);
      if (entry(call.addr, name) != 0 || find(call.pool) != nullptr) return shown_name(name) + " is there already";
      inodes_[call.pool].kind = static_cast<InodeKind>(call.flags);
      inodes_[call.pool].target = text_of(call.value);
      enter(call.addr, name, call.pool);
      return std::nullopt;
    case TreeCall::kEntry:
    case TreeCall::kLink:
      if (folder_of(call.addr) == nullptr) return unknown(call.addr);
      if (find(call.pool) == nullptr) return unknown(call.pool);
      if (entry(call.addr, name) != 0) return shown_name(name) + " is there already";
      enter(call.addr, name, call.pool);
      return std::nullopt;
    case TreeCall::kUnlink:
      if (entry(call.addr, name) == 0) return shown_name(name) + " is not there";
      leave(call.addr, name);
      return std::nullopt;
    case TreeCall::kRename: {
      const std::string to = text_of(call.value);
      const uint64_t moved = entry(call.addr, name), there = entry(call.size, to);
      if (moved == 0) return shown_name(name) + " is not there";
      if (folder_of(call.size) == nullptr) return unknown(call.size);
      if ((call.flags & 1) != 0 && there == 0) return shown_name(to) + " is not there";
      leave(call.addr, name);
      if (there != 0) leave(call.size, to);
      enter(call.size, to, moved);
      if ((call.flags & 1) != 0) enter(call.addr, name, there);
      return std::nullopt;
    }
    case TreeCall::kContent:
    case TreeCall::kWrite:
    case TreeCall::kSize:
    case TreeCall::kAllocate: {
      Inode* const file = known(call.pool);
      if (file == nullptr || file->kind != InodeKind::kFile) return unknown(call.pool);
      if (kind == TreeCall::kAllocate) return allocate(*file, call);
      if (kind == TreeCall::kSize) {
        resize(*file, call.size);
      } else {
        write(*file, call.addr, call.value);
      }
      return std::nullopt;
    }
    case TreeCall::kSync:
    case TreeCall::kAttributes:
      return find(call.pool) == nullptr ? std::optional(unknown(call.pool)) : std::nullopt;
    case TreeCall::kStarted:
    case TreeCall::kSyncAll:
    case TreeCall::kNote:
    case TreeCall::kEnded:
      return std::nullopt;
  }
  return "an unknown call";
}

void Tree::compare(int parent, const std::string& name, uint64_t inode, size_t most, std::vector<std::string>& out,
                   std::map<std::pair<uint64_t, uint64_t>, uint64_t>& met) const {
  if (out.size() >= most) return;
  const Inode& known = *find(inode);
  const auto differs = [&](const std::string& what) {
    if (out.size() < most) out.push_back(absl::StrCat("'", shown_name(path_of(inode)), "' ", what));
  };
  struct stat status{};
  if (fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return differs("has gone");
  if (inode_kind(status.st_mode) != known.kind) return differs("is of another kind");
  const auto [first, fresh] = met.try_emplace({status.st_dev, status.st_ino}, inode);
  if (first->second != inode) return differs("is another file");
  if (!fresh) return;
  if (known.kind == InodeKind::kLink) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(parent, name.c_str(), target.data(), target.size());
    target.resize(size < 0 ? 0 : static_cast<size_t>(size));
    if (target != known.target) differs("leads elsewhere");
    return;
  }
  const OwnDescriptor fd(openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return differs("cannot be read");
  if (known.kind == InodeKind::kFile) {
    if (static_cast<uint64_t>(status.st_size) != known.size) {
      return differs(absl::StrCat("has ", status.st_size, " bytes, and ", known.size, " by the recorded calls"));
    }
    std::vector<uint8_t> real(64 * kPage), mine(real.size());
    const SharedHoles holes(fd.number(), known);
    for (uint64_t at = 0; (at = holes.end_from(at)) < known.size; at += real.size()) {
      const size_t size = std::min<uint64_t>(real.size(), known.size - at);
      if (pread(fd.number(), real.data(), size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) {
        return differs("cannot be read");
      }
      read(known, at, std::span(mine).first(size));
      if (std::memcmp(real.data(), mine.data(), size) != 0) {
        const auto place = std::mismatch(real.begin(), real.begin() + static_cast<ptrdiff_t>(size), mine.begin());
        return differs(
            absl::StrCat("holds other bytes from ", at + static_cast<uint64_t>(place.first - real.begin()), " on"));
      }
    }
    return;
  }
  DIR* const folder = fdopendir(dup(fd.number()));
  if (folder == nullptr) return differs("cannot be listed");
  std::set<std::string> names;
  while (const dirent* entry = readdir(folder)) names.insert(entry->d_name);
  closedir(folder);
  for (const std::string& found : names) {
    if (found == "." || found == ".." || known.entries.contains(found) || out.size() >= most) continue;
    out.push_back(absl::StrCat("'", shown_name(inode == kTreeRoot ? found : path_of(inode) + "/" + found),
                               "' was made by no recorded call"));
  }
  for (const auto& [entry, number] : known.entries) compare(fd.number(), entry, number, most, out, met);
}

std::vector<std::string> Tree::differences(const std::string& folder, size_t most) const {
  std::vector<std::string> out;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> met;
  compare(AT_FDCWD, folder, kTreeRoot, most, out, met);
  return out;
}

}  // namespace powercut
