#include "checker/subjects/program/reads/read_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "tracer/format/line_bytes.h"
#include "tracer/stream/stream_reader.h"

namespace powercut {
namespace {

struct Mapping {
  uint64_t begin, end;
  int window;  // -1: of no pool of ours
  uint64_t offset;
};

// Every mapping of a stream's pools, at the current place of the stream.
class Mappings {
 public:
  void map(const Mapping& mapping) {
    unmap(mapping.begin, mapping.end);
    list_.push_back(mapping);
  }
  void unmap(uint64_t begin, uint64_t end) {
    std::vector<Mapping> kept;
    for (const Mapping& m : list_) {
      if (m.begin < std::min(m.end, begin)) kept.push_back({m.begin, std::min(m.end, begin), m.window, m.offset});
      if (std::max(m.begin, end) < m.end) {
        const uint64_t from = std::max(m.begin, end);
        kept.push_back({from, m.end, m.window, m.offset + (from - m.begin)});
      }
    }
    list_ = std::move(kept);
  }
  // Calls `visit(window, offset in its file, size)` for every part of the access that lies in a pool.
  template <typename Visit>
  void parts(uint64_t address, uint64_t size, const Visit& visit) const {
    for (const Mapping& m : list_) {
      const uint64_t begin = std::max(m.begin, address), end = std::min(m.end, address + size);
      if (begin < end) visit(m.window, m.offset + (begin - m.begin), end - begin);
    }
  }

 private:
  std::vector<Mapping> list_;
};

}  // namespace

std::optional<std::string> ReadSet::take(const powercut_read_log& log, const TracePools& pools) {
  if (log.state == kPowercutReadsRefused) return std::string(log.why, strnlen(log.why, sizeof log.why));
  if (log.state != kPowercutReadsFollowed || log.count > POWERCUT_READ_LOG_ENTRIES)
    return "it did not report its reads";
  see_sizes(pools);
  for (const powercut_read_entry& entry : std::span(log.entries, log.count)) {
    if (entry.image >= pools.windows.size() || entry.line * kLineSize >= pools.windows[entry.image].size) {
      return "it has overwritten its own report of its reads";
    }
    mark_line(pools, entry.image, entry.line, entry.mask, entry.written != 0 ? Access::kWrite : Access::kRead);
  }
  return std::nullopt;
}

void ReadSet::mark(const TracePools& pools, size_t window, uint64_t offset, uint64_t size, Access access) {
  const PoolWindow& pool = pools.windows[window];
  if (offset >= pool.size) return;  // behind the end of the file there is nothing of the image
  for_each_line(offset, offset + std::min(size, pool.size - offset),
                [&](uint64_t line, uint64_t mask) { mark_line(pools, window, line, mask, access); });
}

void ReadSet::mark_line(const TracePools& pools, size_t window, uint64_t line, uint64_t mask, Access access) {
  if (access == Access::kWrite) {
    written_[{window, line}] |= mask;
    return;
  }
  const PoolWindow& pool = pools.windows[window];
  const auto written = written_.find({window, line});
  const bool hides = access == Access::kRead && written != written_.end();
  const uint64_t initial = hides ? mask & ~written->second : mask;
  if (initial == 0) return;
  const LineBytes seen = pool.images().seen_by(pool.file(), {line, initial});
  see(seen.line, seen.mask);
}

void ReadSet::see(uint64_t line, uint64_t mask) {
  uint64_t& seen = seen_[line];
  const uint64_t first = mask & ~seen;
  seen |= mask;
  for (uint64_t word = 0; first != 0 && word < kWords; ++word) {
    const auto bytes = static_cast<uint8_t>(first >> (word * kWordSize));
    if (bytes != 0) reads_.push_back({line * kWords + word, bytes});
  }
}

void ReadSet::see_word(uint64_t offset) { see(offset / kLineSize, uint64_t{0xFF} << (offset % kLineSize)); }

// Every run sees how long its files are.
void ReadSet::see_sizes(const TracePools& pools) {
  for (const PoolWindow& pool : pools.windows) {
    if (const auto word = pool.images().size_word(pool.file())) see_word(*word);
  }
}

std::optional<std::string> ReadSet::follow(const std::string& stream, const TracePools& pools,
                                           const std::vector<std::string>& images) {
  TraceError error;
  auto reader = StreamReader::open(stream, &error);
  if (reader == nullptr) return error.what;
  std::vector<int> windows;  // of the stream's pools
  Mappings mappings;
  bool ended = false;
  const auto in_file = [&](int window, uint64_t offset, uint64_t size, Access access) {
    if (window >= 0) mark(pools, static_cast<size_t>(window), offset, size, access);
  };
  const auto in_memory = [&](const StreamRecord& access, uint64_t size, Access how) {
    mappings.parts(access.address, size,
                   [&](int window, uint64_t offset, uint64_t part) { in_file(window, offset, part, how); });
  };
  see_sizes(pools);
  StreamRecord record;
  while (reader->next(&record)) {
    switch (record.type) {
      case kPowercutPool: {
        const auto image = std::find(images.begin(), images.end(), std::string(record.text));
        windows.push_back(image == images.end() ? -1 : static_cast<int>(image - images.begin()));
        break;
      }
      case kPowercutMap:
        mappings.map({record.address, record.address + record.length, windows[record.pool], record.offset});
        break;
      case kPowercutUnmap:
        mappings.unmap(record.address, record.address + record.length);
        break;
      case kPowercutLoad:
        in_memory(record, record.length, Access::kRead);
        break;
      case kPowercutStore:
        in_memory(record, record.bytes.size(), Access::kWrite);
        break;
      case kPowercutFileWrite:
        in_file(windows[record.pool], record.address, record.bytes.size(), Access::kWrite);
        break;
      case kPowercutFileRead:
        in_file(windows[record.pool], record.address, record.length,
                record.code == kPowercutReadSince ? Access::kReadSince : Access::kRead);
        break;
      case kPowercutNote:
        return std::string(record.text);
      case kPowercutEnd:
        ended = true;
        break;
      case kPowercutContent:
      case kPowercutFlush:
      case kPowercutFence:
      case kPowercutThreadStart:
      case kPowercutThreadEnd:
      case kPowercutModule:
      case kPowercutStack:
      case kPowercutOpBegin:
      case kPowercutOpEnd:
      case kPowercutMarker:
      case kPowercutPhase:
      case kPowercutCut:
      case kPowercutFileSize:
      case kPowercutSync:
      case kPowercutOutput:
        break;
    }
  }
  if (reader->error()) return reader->error()->what;
  if (!ended) return "the traced run was killed";
  return std::nullopt;
}

}  // namespace powercut
