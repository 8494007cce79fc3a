#include "tracer/other_files/saved_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace powercut {
namespace {

constexpr const char* kJournal = "/journal";

// A line of the journal: what was under a name.
struct Entry {
  std::string kind;  // "absent", "file", "folder", "link"
  std::string path;
  std::string text;  // of a file: its copy; of a link: where it leads
  mode_t mode = 0;
  timespec changed{};
};

// Names may hold anything.
std::string in_hex(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "x";
  for (const unsigned char c : text) {
    out += kDigits[c / 16];
    out += kDigits[c % 16];
  }
  return out;
}

std::string from_hex(const std::string& text) {
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); i += 2) {
    out += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
  return out;
}

std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> out;
  std::ifstream journal(folder + kJournal);
  for (std::string line; std::getline(journal, line);) {
    // One that was cut off was of a change that was not made.
    if (journal.eof()) break;
    std::istringstream words(line);
    Entry entry;
    std::string path, text;
    words >> entry.kind >> entry.mode >> entry.changed.tv_sec >> entry.changed.tv_nsec >> path >> text;
    entry.path = from_hex(path);
    entry.text = from_hex(text);
    if (!words.fail()) out.push_back(std::move(entry));
  }
  return out;
}

bool copy_bytes(int from, int to) {
  struct stat status{};
  if (fstat(from, &status) != 0 || ftruncate(to, status.st_size) != 0) return false;
  static thread_local std::vector<char> buffer(1 << 20);
  for (off_t at = 0; at < status.st_size;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // nothing but a hole is left
    const off_t hole = lseek(from, data, SEEK_HOLE);
    for (at = data; at < hole;) {
      const size_t piece = std::min<size_t>(buffer.size(), static_cast<size_t>(hole - at));
      const ssize_t size = pread(from, buffer.data(), piece, at);
      if (size == 0) return true;
      if (size < 0 || pwrite(to, buffer.data(), static_cast<size_t>(size), at) != size) return false;
      at += size;
    }
  }
  return true;
}

bool copy_file(const std::string& from, const std::string& to, int flags, mode_t mode) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (source < 0) return false;
  const int target = open(to.c_str(), O_WRONLY | O_CLOEXEC | flags, mode);
  const bool done = target >= 0 && copy_bytes(source, target);
  const int error = errno;
  close(source);
  if (target >= 0 && close(target) != 0) return false;
  errno = error;
  return done;
}

bool same_bytes(const std::string& a, const std::string& b) {
  std::ifstream left(a, std::ios::binary), right(b, std::ios::binary);
  std::vector<char> one(1 << 16), other(1 << 16);
  while (left && right) {
    left.read(one.data(), static_cast<std::streamsize>(one.size()));
    right.read(other.data(), static_cast<std::streamsize>(other.size()));
    if (left.gcount() != right.gcount() || !std::equal(one.begin(), one.begin() + left.gcount(), other.begin()))
      return false;
  }
  return left.eof() && right.eof();
}

bool put_file_back(const Entry& entry) {
  struct stat now{};
  const bool there = lstat(entry.path.c_str(), &now) == 0;
  std::error_code wrong;
  if (there && !S_ISREG(now.st_mode)) std::filesystem::remove_all(entry.path, wrong);
  // Written in place, where the file exists: it may have other names, and a process may have it open.
  const bool in_place = there && S_ISREG(now.st_mode);
  if (!in_place || !same_bytes(entry.path, entry.text)) {
    if (in_place) chmod(entry.path.c_str(), S_IRUSR | S_IWUSR);
    if (!copy_file(entry.text, entry.path, O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR)) return false;
  }
  const timespec times[] = {{0, UTIME_OMIT}, entry.changed};
  return chmod(entry.path.c_str(), entry.mode) == 0 && utimensat(AT_FDCWD, entry.path.c_str(), times, 0) == 0;
}

bool put_link_back(const Entry& entry) {
  std::error_code wrong;
  if (std::filesystem::read_symlink(entry.path, wrong) == entry.text && !wrong) return true;
  std::filesystem::remove_all(entry.path, wrong);
  return symlink(entry.text.c_str(), entry.path.c_str()) == 0;
}

bool put_folder_back(const Entry& entry) {
  std::error_code wrong;
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(entry.path, wrong))) {
    std::filesystem::remove_all(entry.path, wrong);
    std::filesystem::create_directories(entry.path, wrong);
  }
  return chmod(entry.path.c_str(), entry.mode) == 0;
}

}  // namespace

SavedFiles::~SavedFiles() {
  if (journal_ >= 0) close(journal_);
}

bool SavedFiles::write(const std::string& kind, const std::string& path, const struct stat& status,
                       const std::string& text) {
  std::ostringstream line;
  line << kind << ' ' << (status.st_mode & 07777) << ' ' << status.st_mtim.tv_sec << ' ' << status.st_mtim.tv_nsec
       << ' ' << in_hex(path) << ' ' << in_hex(text) << '\n';
  const std::string whole = line.str();
  return ::write(journal_, whole.data(), whole.size()) == static_cast<ssize_t>(whole.size());
}

bool SavedFiles::keep(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) {
    const std::string copy = folder_ + "/" + std::to_string(++copies_);
    return copy_file(path, copy, O_CREAT | O_EXCL, S_IRUSR | S_IWUSR) && write("file", path, status, copy);
  }
  if (S_ISDIR(status.st_mode)) return write("folder", path, status, "");
  if (!S_ISLNK(status.st_mode)) return true;
  std::error_code wrong;
  const std::string target = std::filesystem::read_symlink(path, wrong).string();
  return !wrong && write("link", path, status, target);
}

bool SavedFiles::save(const std::string& path, bool tree) {
  if (path.empty()) return true;  // nothing can be done to it
  // What lies below a name that was not there goes with it.
  struct stat status{};
  const bool there = lstat(path.c_str(), &status) == 0;
  if (!there && errno != ENOENT) return true;  // as of a path through a file: the call fails as well
  if (saved_.contains(path) && !(tree && there && S_ISDIR(status.st_mode))) return true;
  if (journal_ < 0) {
    mkdir(folder_.c_str(), 0700);
    journal_ = open((folder_ + kJournal).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal_ < 0) return false;
  }
  if (!saved_.contains(path)) {
    if (!(there ? keep(path, status) : write("absent", path, status, ""))) return false;
    saved_.insert(path);
  }
  if (!tree || !there || !S_ISDIR(status.st_mode)) return true;
  std::error_code wrong;
  for (const auto& below : std::filesystem::directory_iterator(path, wrong)) {
    if (!save(below.path().string(), true)) return false;
  }
  return !wrong;
}

bool SavedFiles::put_back(const std::string& folder) {
  const std::vector<Entry> entries = entries_of(folder);
  bool whole = true;
  std::error_code wrong;
  const auto each = [&](const char* kind, const auto& put) {
    for (const Entry& entry : entries) {
      if (entry.kind == kind) whole = put(entry) && whole;
    }
  };
  each("absent", [&](const Entry& entry) {
    std::filesystem::remove_all(entry.path, wrong);
    return !std::filesystem::exists(std::filesystem::symlink_status(entry.path, wrong));
  });
  // A folder's own stands before what lies in it where both were moved; else each was saved while its folder was there.
  std::vector<Entry> folders;
  std::ranges::copy_if(entries, std::back_inserter(folders), [](const Entry& entry) { return entry.kind == "folder"; });
  std::ranges::sort(folders, {}, &Entry::path);
  for (const Entry& entry : folders) whole = put_folder_back(entry) && whole;
  each("link", put_link_back);
  each("file", put_file_back);
  if (whole) std::filesystem::remove_all(folder, wrong);
  return whole;
}

}  // namespace powercut
