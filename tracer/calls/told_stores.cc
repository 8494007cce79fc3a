#include "tracer/calls/told_stores.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace powercut {

std::optional<EngineError> ToldStores::make(const std::string& path, TreeLog& log) {
  file_ = OwnDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  struct stat status{};
  if (!file_ || fstat(file_.number(), &status) != 0) {
    return harness_error(absl::StrCat("the file for stores cannot be made: ", std::strerror(errno)), path,
                         "Free some space and record again.");
  }
  log.tells(status, *this);
  log.stores_are_told();
  return std::nullopt;
}

void ToldStores::wrote(TreeLog& log, uint64_t offset, uint64_t size) {
  std::vector<uint8_t> bytes(size);
  const ssize_t got = pread(file_.number(), bytes.data(), size, static_cast<off_t>(offset));
  // All records so far are read: the file need not grow.
  bool whole = got == static_cast<ssize_t>(size) && ftruncate(file_.number(), 0) == 0;
  const uint32_t thread = log.thread();
  for (size_t at = 0; whole && at < bytes.size();) {
    powercut_store_record record;
    whole = bytes.size() - at >= sizeof record;
    if (!whole) break;
    std::memcpy(&record, &bytes[at], sizeof record);
    at += sizeof record;
    whole = bytes.size() - at >= record.size && take(record, std::span(bytes).subspan(at, record.size), log);
    at += record.size;
  }
  log.by(thread, "", 0);
  if (!whole) log.note(TreeNote::kUnknown, "what the tracer tells of stores through mappings cannot be read");
}

bool ToldStores::take(const powercut_store_record& record, std::span<const uint8_t> bytes, TreeLog& log) {
  const auto named = std::pair(process_, record.stack);
  if (record.kind == kPowercutStoreStack) {
    std::vector<uint64_t> counters(bytes.size() / sizeof(uint64_t));
    std::memcpy(counters.data(), bytes.data(), counters.size() * sizeof(uint64_t));
    stacks_[named] = places_.stack_of(process_, counters);
    return true;
  }
  if (record.kind == kPowercutStoreCall) {
    threads_[{process_, record.thread}] = log.thread();
    calls_[log.thread()] = stacks_[named];
    return true;
  }
  if (record.kind != kPowercutStoreOfFile) return false;
  struct stat status{};
  status.st_dev = log.device();
  status.st_ino = record.inode;
  const uint64_t inode = log.inode_of(status);
  if (!log.is_mapped(inode)) return true;
  // The last page of a file goes on behind its end.
  const uint64_t size = log.tree().find(inode)->size;
  if (record.offset >= size) return true;
  bytes = bytes.first(std::min<uint64_t>(bytes.size(), size - record.offset));
  const uint32_t writer = log.thread();
  const auto thread = threads_.find({process_, record.thread});
  log.by(thread == threads_.end() ? writer : thread->second, "", stacks_[named]);
  log.wrote(inode, record.offset, bytes, kByMapping);
  log.by(writer, "", 0);
  return true;
}

uint32_t ToldStores::stack_of_call(uint32_t thread) {
  const auto found = calls_.find(thread);
  return found == calls_.end() ? 0 : found->second;
}

}  // namespace powercut
