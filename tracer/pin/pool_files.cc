#include "tracer/pin/pool_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace powercut {
namespace pin {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kSeekData = 3;  // SEEK_DATA

// The bytes of a file by pages. Holes are passed over.
template <typename Visit>
void each_page(const std::string& path, uint64_t offset, uint64_t end, Visit visit) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::vector<uint8_t> buffer(64 * kPage);
  while (offset < end) {
    const off_t data = lseek(file, static_cast<off_t>(offset), kSeekData);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole is left
    if (data > static_cast<off_t>(offset)) offset = static_cast<uint64_t>(data);
    if (offset >= end) break;
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(buffer.size(), end - offset));
    const ssize_t got = pread(file, buffer.data(), wanted, static_cast<off_t>(offset));
    if (got <= 0) break;
    for (size_t at = 0; at < static_cast<size_t>(got); at += kPage) {
      visit(offset + at, buffer.data() + at, static_cast<uint32_t>(std::min<size_t>(kPage, got - at)));
    }
    offset += static_cast<uint64_t>(got);
  }
  close(file);
}

bool is_zero(const uint8_t* bytes, uint32_t size) {
  return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

void PoolFiles::name(const std::string& path) {
  Pool pool;
  pool.path = path;
  pools_.push_back(pool);
}

void PoolFiles::begin() {
  const Held held(recorder_.lock());
  powercut_stream* const stream = recorder_.stream();
  for (size_t i = 0; i < pools_.size(); ++i) {
    Pool& pool = pools_[i];
    struct stat status;
    if (stat(pool.path.c_str(), &status) == 0) {
      pool.exists = true;
      pool.device = status.st_dev;
      pool.inode = status.st_ino;
      pool.size = static_cast<uint64_t>(status.st_size);
    }
    powercut_stream_pool(stream, kPowercutMemory, pool.path.c_str(), pool.size);
    each_page(pool.path, 0, pool.size, [&](uint64_t offset, const uint8_t* bytes, uint32_t size) {
      if (is_zero(bytes, size)) return;
      powercut_stream_content(stream, static_cast<uint32_t>(i), offset, bytes, size);
    });
  }
}

int PoolFiles::pool_of(int descriptor) const {
  struct stat status, named;
  if (pools_.empty() || descriptor < 0 || fstat(descriptor, &status) != 0) return -1;
  const auto is = [&status](uint64_t device, uint64_t inode) {
    return device == static_cast<uint64_t>(status.st_dev) && inode == static_cast<uint64_t>(status.st_ino);
  };
  for (size_t i = 0; i < pools_.size(); ++i) {
    const Pool& pool = pools_[i];
    if (pool.path.empty()) continue;
    if (pool.exists && is(pool.device, pool.inode)) return static_cast<int>(i);
    // Perhaps it was made, or replaced, since it was last looked at.
    if (stat(pool.path.c_str(), &named) == 0 && is(named.st_dev, named.st_ino)) return static_cast<int>(i);
  }
  return -1;
}

void PoolFiles::look(Recorder::Entry& entry, int number) {
  Pool& pool = pools_[static_cast<size_t>(number)];
  struct stat status;
  const auto resize = [&](uint64_t size) {
    if (pool.size == size) return;
    pool.size = size;
    powercut_stream_file_size(entry.stream(), entry.site(), static_cast<uint32_t>(number), size);
  };
  if (stat(pool.path.c_str(), &status) != 0) return;
  const bool same = pool.exists && pool.device == static_cast<uint64_t>(status.st_dev) &&
                    pool.inode == static_cast<uint64_t>(status.st_ino);
  if (!same) resize(0);
  pool.exists = true;
  pool.device = status.st_dev;
  pool.inode = status.st_ino;
  resize(static_cast<uint64_t>(status.st_size));
  if (same || pool.size == 0) return;
  // It was written under another name, and moved here. Who does so makes it durable before.
  const auto index = static_cast<uint32_t>(number);
  each_page(pool.path, 0, pool.size, [&](uint64_t at, const uint8_t* bytes, uint32_t size) {
    if (is_zero(bytes, size)) return;
    powercut_stream_file_write(entry.stream(), entry.site(), index, at, bytes, size);
  });
  powercut_stream_sync(entry.stream(), entry.site(), kPowercutFsync, index, 0, UINT64_MAX);
}

void PoolFiles::registered(uint32_t thread, uint64_t address, uint64_t length, const Frames& frames) {
  if (length == 0 || !recorder_.recording()) return;
  Recorder::Entry entry(recorder_, thread, frames);
  uint64_t begin = 0;
  if (powercut_ranges_clip(&entry.ranges(), address, length, &begin) == length) return;
  const auto number = static_cast<uint32_t>(pools_.size());
  pools_.push_back(Pool());
  powercut_stream_pool(entry.stream(), kPowercutMemory, "", 0);
  // What it holds now is what the program has started from.
  uint8_t page[kPage];
  for (uint64_t at = 0; at < length; at += kPage) {
    const size_t got = recorder_.host().copy(page, address + at, std::min(kPage, length - at));
    if (got == 0 || is_zero(page, static_cast<uint32_t>(got))) continue;
    powercut_stream_content(entry.stream(), number, at, page, static_cast<uint32_t>(got));
  }
  entry.map(number, address, length, 0);
}

void PoolFiles::write_file(Recorder::Entry& entry, const Effect& effect) {
  const auto number = static_cast<uint32_t>(effect.pool);
  const uint64_t end = effect.offset + effect.length;
  if (effect.kind == Effect::kFileZeroed) {
    const std::vector<uint8_t> zeros(kPage);
    const uint64_t size = std::min(end, pools_[number].size);
    for (uint64_t at = effect.offset; at < size; at += kPage) {
      powercut_stream_file_write(entry.stream(), entry.site(), number, at, zeros.data(),
                                 static_cast<uint32_t>(std::min(kPage, size - at)));
    }
    return;
  }
  each_page(pools_[number].path, effect.offset, end, [&](uint64_t at, const uint8_t* bytes, uint32_t size) {
    powercut_stream_file_write(entry.stream(), entry.site(), number, at, bytes, size);
  });
  if (effect.synced) {
    powercut_stream_sync(entry.stream(), entry.site(), kPowercutFsync, number, effect.offset, effect.length);
  }
}

void PoolFiles::apply(uint32_t thread, const Effect& effect, const Frames& frames) {
  if (effect.kind == Effect::kNothing || !recorder_.recording()) return;
  Recorder::Entry entry(recorder_, thread, frames);
  powercut_stream* const stream = entry.stream();
  if (effect.pool >= 0) look(entry, effect.pool);
  const auto number = static_cast<uint32_t>(effect.pool);
  switch (effect.kind) {
    case Effect::kMapped:
      entry.unmap(effect.address, effect.length);
      if (effect.pool >= 0) entry.map(number, effect.address, effect.length, effect.offset);
      break;
    case Effect::kPrivate:
      entry.unmap(effect.address, effect.length);
      powercut_stream_note(stream, kPowercutNotePrivate, pools_[number].path.c_str());
      break;
    case Effect::kRemapped: {
      const powercut_range* const found = powercut_ranges_at(&entry.ranges(), effect.from);
      if (found == nullptr || found->begin > effect.from) {
        entry.unmap(effect.address, effect.length);
        break;
      }
      const powercut_range range = *found;
      if (effect.moves) entry.unmap(effect.from, effect.from_length);
      entry.unmap(effect.address, effect.length);
      entry.map(range.pool, effect.address, effect.length, range.offset + (effect.from - range.begin));
      break;
    }
    case Effect::kFileWritten:
    case Effect::kFileZeroed:
      write_file(entry, effect);
      break;
    case Effect::kFileLooked:
      for (size_t i = 0; effect.pool < 0 && i < pools_.size(); ++i) {
        if (!pools_[i].path.empty()) look(entry, static_cast<int>(i));
      }
      break;
    case Effect::kFileSynced:
      for (size_t i = 0; i < pools_.size(); ++i) {
        if (effect.pool >= 0 && static_cast<size_t>(effect.pool) != i) continue;
        powercut_stream_sync(stream, entry.site(), kPowercutFsync, static_cast<uint32_t>(i), 0, UINT64_MAX);
      }
      break;
    case Effect::kRangeSynced:
      each_mapped(entry.ranges(), effect.address, effect.length, [&](const powercut_range& piece) {
        powercut_stream_sync(stream, entry.site(), kPowercutMsync, piece.pool, piece.offset, piece.end - piece.begin);
      });
      break;
    case Effect::kMemoryWritten:
      for (const Piece& piece : effect.pieces) entry.store(piece.address, piece.size, 0);
      break;
    case Effect::kMemoryRead:
      for (const Piece& piece : effect.pieces) {
        each_mapped(entry.ranges(), piece.address, piece.size, [&](const powercut_range& mapped) {
          powercut_stream_load(stream, entry.site(), mapped.begin, mapped.end - mapped.begin);
        });
      }
      break;
    case Effect::kNothing:
      break;
  }
}

}  // namespace pin
}  // namespace powercut
