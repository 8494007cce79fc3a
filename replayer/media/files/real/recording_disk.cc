// A disk in memory that records what it is asked to do: a FUSE file system of one file, `disk`.
//
//   powercut-recording-disk FOLDER BYTES
//
// FOLDER becomes the mount point. Commands come as lines on stdin, and each is answered by one line on stdout: `ok`, or
// `error` with its reason. A single thread reads requests and commands in turn, so the log has the order of what
// happened.
//
//   load PATH             the disk has the contents of the file
//   record PATH           writes the disk to the file, and begins an empty log
//   delay SEED MOST       from now on writes and flushes end after 0 to MOST microseconds
//   mark NUMBER           a line of the driver in the log
//   log PATH              writes the log to the file, and ends recording
//
// The log is a sequence of entries: one letter, padded to 8 bytes, then id, offset and length of 8 bytes each, and
// behind a write its bytes. W: a write arrives. Z: zeroes arrive (a discard). F: a flush arrives. E: a write, zeroes or
// a flush ended. M: a mark, whose number is the id.
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>

namespace {

constexpr fuse_ino_t kDisk = 2;
constexpr size_t kBlock = 4096;
// An answer in so many may be slow, so that others overtake it; the rest are faster by this factor.
constexpr uint64_t kSlow = 4, kFast = 32;
constexpr double kForever = 86400;

using Clock = std::chrono::steady_clock;

// A write or a flush that arrived and has no answer yet.
struct Pending {
  fuse_req_t request;
  uint64_t id;
  size_t written;  // of a flush 0
  bool is_write;
};

struct Disk {
  char* bytes = nullptr;
  size_t size = 0;
  bool recording = false;
  std::string log;
  uint64_t next_id = 0;
  std::mt19937_64 random{1};
  uint64_t most_delay = 0;
  std::multimap<Clock::time_point, Pending> pending;

  void note(char letter, uint64_t id, uint64_t offset = 0, uint64_t length = 0, const char* data = nullptr) {
    if (!recording) return;
    const uint64_t head[] = {static_cast<uint64_t>(letter), id, offset, length};
    log.append(reinterpret_cast<const char*>(head), sizeof head);
    if (data) log.append(data, length);
  }

  void answer(const Pending& each) {
    note('E', each.id);
    if (each.is_write) {
      fuse_reply_write(each.request, each.written);
    } else {
      fuse_reply_err(each.request, 0);
    }
  }

  void answer_later(const Pending& each) {
    uint64_t delay = most_delay ? random() % (most_delay + 1) : 0;
    if (random() % kSlow != 0) delay /= kFast;
    if (delay == 0) return answer(each);
    pending.emplace(Clock::now() + std::chrono::microseconds(delay), each);
  }

  void answer_due(bool all) {
    while (!pending.empty() && (all || pending.begin()->first <= Clock::now())) {
      const Pending each = pending.begin()->second;
      pending.erase(pending.begin());
      answer(each);
    }
  }
};

Disk disk;

struct stat attributes_of(fuse_ino_t inode) {
  struct stat found = {};
  found.st_ino = inode;
  found.st_mode = inode == kDisk ? S_IFREG | 0600 : S_IFDIR | 0700;
  found.st_nlink = inode == kDisk ? 1 : 2;
  found.st_size = inode == kDisk ? static_cast<off_t>(disk.size) : 0;
  return found;
}

void look_up(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (parent != FUSE_ROOT_ID || strcmp(name, "disk") != 0) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param entry = {};
  entry.ino = kDisk;
  entry.attr = attributes_of(kDisk);
  entry.attr_timeout = entry.entry_timeout = kForever;
  fuse_reply_entry(request, &entry);
}

void get_attributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  const struct stat found = attributes_of(inode);
  fuse_reply_attr(request, &found, kForever);
}

void set_attributes(fuse_req_t request, fuse_ino_t inode, struct stat*, int, fuse_file_info*) {
  get_attributes(request, inode, nullptr);
}

void open_file(fuse_req_t request, fuse_ino_t inode, fuse_file_info* file) {
  if (inode == kDisk) {
    fuse_reply_open(request, file);
  } else {
    fuse_reply_err(request, EISDIR);
  }
}

void read_file(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  const size_t begin = std::min(static_cast<size_t>(offset), disk.size);
  fuse_reply_buf(request, disk.bytes + begin, std::min(size, disk.size - begin));
}

void write_file(fuse_req_t request, fuse_ino_t, const char* data, size_t size, off_t offset, fuse_file_info*) {
  if (static_cast<size_t>(offset) + size > disk.size) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  const uint64_t id = disk.next_id++;
  memcpy(disk.bytes + offset, data, size);
  disk.note('W', id, static_cast<uint64_t>(offset), size, data);
  disk.answer_later({request, id, size, true});
}

void discard(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length, fuse_file_info*) {
  if (!(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) ||
      static_cast<size_t>(offset) + static_cast<size_t>(length) > disk.size) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  const uint64_t id = disk.next_id++;
  memset(disk.bytes + offset, 0, static_cast<size_t>(length));
  disk.note('Z', id, static_cast<uint64_t>(offset), static_cast<uint64_t>(length));
  disk.answer_later({request, id, 0, false});
}

void flush(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  const uint64_t id = disk.next_id++;
  disk.note('F', id);
  disk.answer_later({request, id, 0, false});
}

// Blocks of zeroes become holes.
bool write_disk(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool good = file >= 0 && ftruncate(file, static_cast<off_t>(disk.size)) == 0;
  static const char zeroes[kBlock] = {};
  std::string resident(disk.size / kBlock, '\0');
  good = good && mincore(disk.bytes, disk.size, reinterpret_cast<unsigned char*>(resident.data())) == 0;
  for (size_t at = 0; good && at < disk.size; at += kBlock) {
    if (!(resident[at / kBlock] & 1) || memcmp(disk.bytes + at, zeroes, kBlock) == 0) continue;
    good = pwrite(file, disk.bytes + at, kBlock, static_cast<off_t>(at)) == static_cast<ssize_t>(kBlock);
  }
  if (file >= 0) close(file);
  return good;
}

bool read_disk(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  bool good = file >= 0 && madvise(disk.bytes, disk.size, MADV_DONTNEED) == 0;
  off_t at = 0;
  while (good && (at = lseek(file, at, SEEK_DATA)) >= 0) {
    const off_t end = std::min(lseek(file, at, SEEK_HOLE), static_cast<off_t>(disk.size));
    if (at >= end) break;
    const ssize_t got = pread(file, disk.bytes + at, static_cast<size_t>(end - at), at);
    good = got > 0;
    at += got;
  }
  if (file >= 0) close(file);
  return good;
}

bool write_log(const char* path) {
  FILE* file = fopen(path, "we");
  const bool good = file && fwrite(disk.log.data(), 1, disk.log.size(), file) == disk.log.size();
  return (file ? fclose(file) == 0 : false) && good;
}

const char* obey(const char* line) {
  char path[4096];
  uint64_t number = 0, most = 0;
  if (sscanf(line, "load %4095s", path) == 1) {
    disk.answer_due(true);
    return read_disk(path) ? "ok" : "error: cannot read the file";
  }
  if (sscanf(line, "record %4095s", path) == 1) {
    disk.answer_due(true);
    disk.log.clear();
    disk.recording = true;
    return write_disk(path) ? "ok" : "error: cannot write the disk to the file";
  }
  if (sscanf(line, "log %4095s", path) == 1) {
    disk.recording = false;
    disk.most_delay = 0;
    disk.answer_due(true);
    return write_log(path) ? "ok" : "error: cannot write the log to the file";
  }
  if (sscanf(line, "delay %" SCNu64 " %" SCNu64, &number, &most) == 2) {
    disk.random.seed(number);
    disk.most_delay = most;
    return "ok";
  }
  if (sscanf(line, "mark %" SCNu64, &number) == 1) {
    disk.note('M', number);
    return "ok";
  }
  return "error: no such command";
}

// False when the driver is gone.
bool read_commands() {
  static std::string text;
  char some[4096];
  const ssize_t got = read(STDIN_FILENO, some, sizeof some);
  if (got <= 0) return false;
  text.append(some, static_cast<size_t>(got));
  size_t end;
  while ((end = text.find('\n')) != std::string::npos) {
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    printf("%s\n", obey(line.c_str()));
    fflush(stdout);
  }
  return true;
}

// Waits for a request, a command, or the next answer that is due.
bool wait_for(pollfd* ready, size_t count) {
  timespec left = {};
  if (!disk.pending.empty()) {
    const auto wait = std::max(disk.pending.begin()->first - Clock::now(), Clock::duration::zero());
    left.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(wait).count();
    left.tv_nsec = std::chrono::nanoseconds(wait % std::chrono::seconds(1)).count();
  }
  return ppoll(ready, count, disk.pending.empty() ? nullptr : &left, nullptr) >= 0 || errno == EINTR;
}

void serve(fuse_session* session) {
  pollfd ready[] = {{fuse_session_fd(session), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  fuse_buf buffer = {};
  while (!fuse_session_exited(session)) {
    if (!wait_for(ready, 2)) break;
    disk.answer_due(false);
    if (ready[0].revents) {
      const int got = fuse_session_receive_buf(session, &buffer);
      if (got == -EINTR || got == -EAGAIN) continue;
      if (got <= 0) break;
      fuse_session_process_buf(session, &buffer);
    }
    if (ready[1].revents && !read_commands()) break;
  }
  free(buffer.mem);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || (disk.size = strtoull(argv[2], nullptr, 10) / kBlock * kBlock) == 0) {
    fprintf(stderr, "usage: powercut-recording-disk FOLDER BYTES\n");
    return 2;
  }
  void* bytes = mmap(nullptr, disk.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) {
    perror("powercut-recording-disk: no memory for the disk");
    return 1;
  }
  disk.bytes = static_cast<char*>(bytes);

  fuse_lowlevel_ops operations = {};
  operations.lookup = look_up;
  operations.getattr = get_attributes;
  operations.setattr = set_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.fsync = flush;
  operations.fallocate = discard;
  char name[] = "powercut-recording-disk", option[] = "-osubtype=powercut";
  char* words[] = {name, option, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(2, words);
  fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, nullptr);
  if (!session || fuse_session_mount(session, argv[1]) != 0) return 1;
  printf("ok\n");
  fflush(stdout);
  serve(session);
  fuse_session_destroy(session);  // closes the connection; the guardian unmounts
  return 0;
}
