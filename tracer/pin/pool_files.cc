#include "tracer/pin/pool_files.h"

#include <algorithm>

namespace powercut {
namespace pin {

void PoolFiles::name(const std::string& path) {
  pools_.push_back(PoolFile());
  pools_.back().path = path;
}

void PoolFiles::begin() {
  const Held held(recorder_.lock());
  powercut_stream* const stream = recorder_.stream();
  for (size_t i = 0; i < pools_.size(); ++i) {
    PoolFile& pool = pools_[i];
    struct stat status;
    if (stat(pool.path.c_str(), &status) == 0) {
      pool.know(status);
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
  struct stat status;
  if (pools_.empty() || descriptor < 0 || fstat(descriptor, &status) != 0) return -1;
  const auto at = std::find_if(pools_.begin(), pools_.end(),
                               [&](const PoolFile& pool) { return pool.is(status) || pool.leads_to(status); });
  return at == pools_.end() ? -1 : static_cast<int>(at - pools_.begin());
}

void PoolFiles::look(Recorder::Entry& entry, int number) {
  PoolFile& pool = pools_[static_cast<size_t>(number)];
  struct stat status;
  const auto resize = [&](uint64_t size) {
    if (pool.size == size) return;
    pool.size = size;
    powercut_stream_file_size(entry.stream(), entry.site(), static_cast<uint32_t>(number), size);
  };
  if (stat(pool.path.c_str(), &status) != 0) return;
  const bool same = pool.is(status);
  if (!same) resize(0);
  pool.know(status);
  resize(static_cast<uint64_t>(status.st_size));
  if (same || pool.size == 0) return;
  // The file was written under another name, and moved here. A program that does so makes the file durable before.
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
  pools_.push_back(PoolFile());
  powercut_stream_pool(entry.stream(), kPowercutMemory, "", 0);
  // The present contents of the range are those that the program has started from.
  uint8_t page[kFilePage];
  for (uint64_t at = 0; at < length; at += kFilePage) {
    const size_t got = recorder_.host().copy(page, address + at, std::min(kFilePage, length - at));
    if (got == 0 || is_zero(page, static_cast<uint32_t>(got))) continue;
    powercut_stream_content(entry.stream(), number, at, page, static_cast<uint32_t>(got));
  }
  entry.map(number, address, length, 0);
}

void PoolFiles::write_file(Recorder::Entry& entry, const Effect& effect) {
  const auto number = static_cast<uint32_t>(effect.pool);
  const uint64_t end = effect.offset + effect.length;
  if (effect.kind == Effect::kFileZeroed) {
    const std::vector<uint8_t> zeros(kFilePage);
    const uint64_t size = std::min(end, pools_[number].size);
    for (uint64_t at = effect.offset; at < size; at += kFilePage) {
      powercut_stream_file_write(entry.stream(), entry.site(), number, at, zeros.data(),
                                 static_cast<uint32_t>(std::min(kFilePage, size - at)));
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
      const bool known = found != nullptr && found->begin <= effect.from;
      const powercut_range range = known ? *found : powercut_range();
      if (known && effect.moves) entry.unmap(effect.from, effect.from_length);
      entry.unmap(effect.address, effect.length);
      if (known) entry.map(range.pool, effect.address, effect.length, range.offset + (effect.from - range.begin));
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
      for (const Piece& piece : effect.pieces) entry.load(piece.address, piece.size);
      break;
    case Effect::kNothing:
      break;
  }
}

}  // namespace pin
}  // namespace powercut
