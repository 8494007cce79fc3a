#include "checker/subjects/program/images/image_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace powercut {
namespace {

constexpr uint64_t kPage = 4096;
constexpr mode_t kMode = 0600;
constexpr uint64_t kSecond = 1'000'000'000;

uint64_t pages_up(uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

EngineError broken(const std::string& what, const std::string& where) {
  return harness_error(what + " (" + std::strerror(errno) + ")", where,
                       "Crash images need room for each worker: free some, or name another folder with --work.");
}

// Everything in the folder but `kept`.
void clear_folder(const std::string& folder, const std::string& kept) {
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return;
  std::vector<std::string> strangers;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != kept) strangers.emplace_back(folder + "/" + entry->d_name);
  }
  closedir(listing);
  std::error_code ignored;
  for (const std::string& stranger : strangers) std::filesystem::remove_all(stranger, ignored);
}

}  // namespace

Result<std::unique_ptr<ImageFiles>> ImageFiles::create(const std::string& folder, const TracePools& pools) {
  std::unique_ptr<ImageFiles> out(new ImageFiles);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  out->made_ = static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
  out->space_ = pages_up(pools.space);
  for (const PoolWindow& window : pools.windows) {
    if (!window.images().in_place()) out->space_ += pages_up(window.size);
  }
  void* expected =
      mmap(nullptr, out->space_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (expected == MAP_FAILED) return broken("no memory for the pools' bytes", folder);
  out->expected_ = static_cast<uint8_t*>(expected);
  out->written_.resize(out->space_ / kPage / 64 + 1);
  uint64_t behind = pages_up(pools.space);
  for (size_t i = 0; i < pools.windows.size(); ++i) {
    const PoolWindow& window = pools.windows[i];
    File& file = out->files_.emplace_back();
    // A folder each: two pools may have the same name, and what recovery puts beside its pool is not another's.
    file.folder = folder + "/" + std::to_string(i);
    file.name = std::filesystem::path(window.path).filename().string();
    file.pool = window.file();
    file.writer = &window.images();
    file.line = window.offset / kLineSize;
    file.lines = (window.space() + kLineSize - 1) / kLineSize;
    file.offset = window.offset;
    file.room = window.size;
    if (!file.writer->size_word(file.pool)) file.size = file.room;
    if (!file.writer->in_place()) {
      file.offset = behind;
      behind += pages_up(window.size);
    }
    if (mkdir(file.folder.c_str(), 0700) != 0) return broken("cannot be made", file.folder);
    if (auto wrong = out->open(&file)) return *wrong;
    out->paths_.push_back(file.folder + "/" + file.name);
  }
  return out;
}

ImageFiles::~ImageFiles() {
  for (const File& file : files_) {
    if (file.mapped != nullptr) munmap(file.mapped, file.room);
    if (file.fd >= 0) close(file.fd);
  }
  if (expected_ != nullptr) munmap(expected_, space_);
}

std::optional<EngineError> ImageFiles::open(File* file, const std::string& folder) {
  const std::string path = (folder.empty() ? file->folder : folder) + "/" + file->name;
  file->fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kMode);
  struct stat status{};
  if (file->fd < 0 || ftruncate(file->fd, static_cast<off_t>(file->size)) != 0 || fstat(file->fd, &status) != 0) {
    return broken("a crash image of " + std::to_string(file->size) + " bytes cannot be made", path);
  }
  file->inode = status.st_ino;
  void* mapped = mmap(nullptr, file->room, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
  if (mapped == MAP_FAILED) return broken("cannot be mapped", path);
  file->mapped = static_cast<uint8_t*>(mapped);
  return std::nullopt;
}

// The run deleted the file, or put another in its place.
std::optional<EngineError> ImageFiles::make_anew(File* file) {
  munmap(file->mapped, file->room);
  close(file->fd);
  file->mapped = nullptr;
  clear_folder(file->folder, "");
  if (auto wrong = open(file)) return wrong;
  return fill(*file);
}

std::optional<EngineError> ImageFiles::fill(const File& file) {
  for (uint64_t at = 0; at < file.size; at += kPage) {
    if (!written((file.offset + at) / kPage)) continue;
    const uint64_t part = std::min(kPage, file.size - at);
    const ssize_t done = pwrite(file.fd, expected_ + file.offset + at, part, static_cast<off_t>(at));
    if (done != static_cast<ssize_t>(part)) return broken("no room for a crash image", file.folder + "/" + file.name);
  }
  return std::nullopt;
}

std::optional<EngineError> ImageFiles::change_inodes() {
  for (File& file : files_) {
    munmap(file.mapped, file.room);
    close(file.fd);
    file.mapped = nullptr;
    // The old files stay until the new files are there: no new file gets a number that is free again.
    const std::string folder = file.folder + ".next";
    if (mkdir(folder.c_str(), 0700) != 0) return broken("cannot be made", folder);
    if (auto wrong = open(&file, folder)) return wrong;
    std::error_code failed;
    std::filesystem::remove_all(file.folder, failed);
    if (!failed) std::filesystem::rename(folder, file.folder, failed);
    if (failed) return broken("cannot be put in the place of the last one", folder);
    if (auto wrong = fill(file)) return wrong;
  }
  return std::nullopt;
}

void ImageFiles::set_times(uint64_t before) {
  const uint64_t when = made_ - before;
  const timespec time = {.tv_sec = static_cast<time_t>(when / kSecond), .tv_nsec = static_cast<long>(when % kSecond)};
  const timespec both[] = {time, time};
  for (const File& file : files_) {
    futimens(file.fd, both);
    utimensat(AT_FDCWD, file.folder.c_str(), both, 0);
  }
}

class ImageFiles::Writing final : public ImageFile {
 public:
  Writing(ImageFiles* files, File* file) : files_(files), file_(file) {}
  void put(uint64_t at, std::span<const uint8_t> bytes) override { files_->put_bytes(*file_, at, bytes); }
  void resize(uint64_t size) override { files_->set_size(file_, size); }
  void lacks_content(std::string_view what) override {
    files_->full_ = harness_error("the trace does not say what " + std::string(what) + " holds", file_->name,
                                  "Record it again with 'powercut record'.");
  }

 private:
  ImageFiles* const files_;
  File* const file_;
};

void ImageFiles::put(uint64_t line, const Content& content) {
  uint8_t* const expected = expected_ + line * kLineSize;
  Content before;
  std::memcpy(before.bytes.data(), expected, kLineSize);
  if (before == content) return;
  name_ = name_ - name_of_line(line, before) + name_of_line(line, content);
  const auto at = std::ranges::find_if(files_, [line](const File& file) { return line - file.line < file.lines; });
  const bool of_file = at != files_.end();
  // The bytes of a file in its place are noted where they are put.
  if (!of_file || !at->writer->in_place()) std::memcpy(expected, content.bytes.data(), kLineSize);
  if (!of_file) return;
  Writing file(this, &*at);
  at->writer->write(at->pool, line - at->line, content, &file);
}

void ImageFiles::set_size(File* file, uint64_t size) {
  if (size == file->size) return;
  const uint64_t before = std::exchange(file->size, size);
  const auto no_room = [&] { full_ = broken("no room for a crash image", file->folder + "/" + file->name); };
  if (ftruncate(file->fd, static_cast<off_t>(size)) != 0) return no_room();
  for (uint64_t at = before / kPage * kPage; at < size; at += kPage) {
    if (!written((file->offset + at) / kPage)) continue;
    const uint64_t part = std::min(kPage, size - at);
    const ssize_t done = pwrite(file->fd, expected_ + file->offset + at, part, static_cast<off_t>(at));
    if (done != static_cast<ssize_t>(part)) return no_room();
  }
}

void ImageFiles::put_bytes(const File& file, uint64_t within, std::span<const uint8_t> bytes) {
  const uint64_t at = file.offset + within;
  uint8_t* expected = expected_ + at;
  if (std::memcmp(expected, bytes.data(), bytes.size()) == 0) return;
  std::memcpy(expected, bytes.data(), bytes.size());
  const bool first = !written(at / kPage);
  written_[at / kPage / 64] |= uint64_t{1} << (at / kPage % 64);
  if (within >= file.size) return;  // set_size() writes it when the file is as long
  const uint64_t size = std::min<uint64_t>(bytes.size(), file.size - within);
  if (!first) {
    std::memcpy(file.mapped + within, bytes.data(), size);
  } else if (pwrite(file.fd, bytes.data(), size, static_cast<off_t>(within)) != static_cast<ssize_t>(size)) {
    // A store to a page that a full file system cannot give would be a SIGBUS.
    full_ = broken("no room for a crash image", file.folder + "/" + file.name);
  }
}

// Writes the expected bytes to [begin, end) of the file; returns the number of pages that differed.
uint64_t ImageFiles::compare(const File& file, uint64_t begin, uint64_t end) {
  uint64_t changed = 0;
  for (uint64_t at = begin / kPage * kPage; at < end; at += kPage) {
    const uint64_t size = std::min(kPage, file.size - at);
    const uint8_t* expected = expected_ + file.offset + at;
    if (std::memcmp(file.mapped + at, expected, size) == 0) continue;
    std::memcpy(file.mapped + at, expected, size);
    ++changed;
  }
  return changed;
}

uint64_t ImageFiles::restore_all(const File& file) {
  uint64_t changed = 0;
  uint64_t done = 0;
  while (done < file.size) {
    const off_t data = lseek(file.fd, static_cast<off_t>(done), SEEK_DATA);
    const uint64_t begin = data < 0 ? file.size : std::min<uint64_t>(file.size, static_cast<uint64_t>(data));
    // Holes: the run may have removed data here.
    for (uint64_t at = done / kPage * kPage; at < begin; at += kPage) {
      if (written((file.offset + at) / kPage)) changed += compare(file, at, std::min(begin, at + kPage));
    }
    if (begin == file.size) break;
    const off_t hole = lseek(file.fd, static_cast<off_t>(begin), SEEK_HOLE);
    done = hole < 0 ? file.size : std::min<uint64_t>(file.size, static_cast<uint64_t>(hole));
    changed += compare(file, begin, done);
  }
  return changed;
}

Result<uint64_t> ImageFiles::restore(const std::optional<Pages>& told) {
  uint64_t changed = 0;
  for (uint32_t number = 0; number < files_.size(); ++number) {
    File& file = files_[number];
    const std::string path = file.folder + "/" + file.name;
    struct stat status{};
    if (chmod(file.folder.c_str(), 0700) != 0 || lstat(path.c_str(), &status) != 0 || status.st_ino != file.inode) {
      std::filesystem::create_directories(file.folder);
      if (auto wrong = make_anew(&file)) return *wrong;
      ++changed;
      continue;
    }
    clear_folder(file.folder, file.name);
    if ((status.st_mode & 07777) != kMode) fchmod(file.fd, kMode);
    const bool resized = static_cast<uint64_t>(status.st_size) != file.size;
    if (resized) {
      // The size comes first, before a look at the mapping: behind the end of the file the mapping has no pages.
      if (ftruncate(file.fd, static_cast<off_t>(file.size)) != 0) return broken("cannot be restored", path);
      ++changed;
    }
    if (!told || resized) {
      changed += restore_all(file);
      continue;
    }
    for (const powercut_image_page& page : *told) {
      const uint64_t at = uint64_t{page.page} * kPage;
      if (page.image == number && at < file.size) changed += compare(file, at, std::min(file.size, at + kPage));
    }
  }
  return changed;
}

}  // namespace powercut
