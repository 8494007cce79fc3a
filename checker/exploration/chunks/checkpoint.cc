#include "checker/exploration/chunks/checkpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/packet.h"
#include "base/user_file.h"

namespace powercut {
namespace {

constexpr int kVersion = 2;
constexpr const char* kHead = "checkpoint";
constexpr const char* kChunk = "chunk";
constexpr const char* kStartAgain = "Start again without --resume, or resume with the options of the first start.";

EngineError unwritable(const std::string& path, int error) {
  return usage_error(std::string("the checkpoint cannot be written: ") + std::strerror(error), path,
                     "Choose a folder that exists and may be written to.");
}

EngineError unreadable(const std::string& path, int error) {
  return usage_error(std::string("the checkpoint cannot be read: ") + std::strerror(error), path,
                     "Name a file that 'explore --checkpoint' wrote.");
}

// Two writers would mix their packets. A run whose parent was killed lives on until it notices, so this waits a little.
bool lock(int fd) {
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + std::chrono::seconds(5);
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// The names of the fields in which the two differ, for people.
std::string differences(const Json& ours, const Json& theirs) {
  std::string out;
  for (const auto& [name, value] : ours.items()) {
    if (!theirs.contains(name) || theirs[name] != value) out += (out.empty() ? "" : ", ") + name;
  }
  return out.empty() ? "fields that this build does not know" : out;
}

// Reads the packets of a checkpoint into `finished`; returns how many bytes of the file are whole packets.
Result<uint64_t> read_packets(int fd, const std::string& path, const Json& identity,
                              std::map<uint64_t, ChunkResult>* finished) {
  PacketParser parser;
  char buffer[65536];
  uint64_t good = 0;
  bool headed = false;
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unreadable(path, errno);
    if (n == 0) return good;
    parser.feed({buffer, static_cast<size_t>(n)});
    while (auto packet = parser.next()) {
      if (!headed) {
        const Json head = parse_json(packet->payload);
        if (!head.is_object() || !head.contains("checkpoint") || !head.contains("run")) {
          return usage_error("the checkpoint's head is damaged", path, kStartAgain);
        }
        if (head["checkpoint"] != kVersion) {
          return usage_error("the checkpoint is of another version of powercut", path, kStartAgain);
        }
        if (head["run"] != identity) {
          return usage_error("the checkpoint is of another run: it differs in " + differences(identity, head["run"]),
                             path, kStartAgain);
        }
        headed = true;
      } else if (auto result = decode_chunk_result(packet->payload); result && packet->kind == kChunk) {
        (*finished)[result->number] = std::move(*result);
      }
      good = parser.consumed();
    }
  }
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& path, const Json& identity, bool resume) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0) return unwritable(path, errno);
  std::unique_ptr<Checkpoint> out(new Checkpoint(path, fd));
  if (status.st_size > 0) {
    // A kill within the first packet leaves a part of its first line, at least.
    char start[16] = {};
    const ssize_t got = pread(fd, start, std::strlen(kHead), 0);
    if (!S_ISREG(status.st_mode) || got <= 0 || std::strncmp(start, kHead, static_cast<size_t>(got)) != 0) {
      return usage_error("this is not a checkpoint, and it is not overwritten", path, "Name another file.");
    }
  }
  if (!lock(fd)) {
    return usage_error("another run is writing this checkpoint", path, "Wait for it to end, or name another file.");
  }
  if (resume) {
    const auto good = read_packets(fd, path, identity, &out->finished_);
    if (!good) return good.error();
    if (ftruncate(fd, static_cast<off_t>(*good)) != 0) return unwritable(path, errno);
  } else if (ftruncate(fd, 0) != 0) {
    return unwritable(path, errno);
  }
  if (lseek(fd, 0, SEEK_END) == 0) {
    const Json head = {{"checkpoint", kVersion}, {"run", identity}};
    if (auto wrong = out->write_out(pack(kHead, head.dump(-1, ' ', false, Json::error_handler_t::replace)))) {
      return *wrong;
    }
  }
  return out;
}

Checkpoint::~Checkpoint() {
  if (fd_ >= 0) close(fd_);
}

std::optional<EngineError> Checkpoint::take(const std::string& path, const Json& identity) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return unreadable(path, errno);
  const auto read = read_packets(fd, path, identity, &finished_);
  close(fd);
  return read ? std::nullopt : std::optional(read.error());
}

std::optional<EngineError> Checkpoint::append(const ChunkResult& result) {
  if (fd_ < 0) return std::nullopt;
  auto wrong = write_out(pack(kChunk, encode(result)));
  if (wrong) close(std::exchange(fd_, -1));
  return wrong;
}

std::optional<EngineError> Checkpoint::write_out(const std::string& packet) {
  for (size_t sent = 0; sent < packet.size();) {
    const ssize_t n = write(fd_, packet.data() + sent, packet.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return unwritable(path_, errno);
    sent += static_cast<size_t>(n);
  }
  if (fdatasync(fd_) != 0) return unwritable(path_, errno);
  return std::nullopt;
}

}  // namespace powercut
