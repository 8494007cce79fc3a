// Calls on a file that the program maps: a write is a store, and a sync flushes and fences the lines that were stored
// to. The page cache is not modelled, so a write is durable after a sync, or at any time before, line by line. A file
// system's changes to the file itself are assumed to be atomic, and durable at once.
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "replayer/media/memory/memory.h"
#include "replayer/media/pool_calls.h"

namespace powercut {
namespace {

class MemoryCalls final : public PoolCalls {
 public:
  explicit MemoryCalls(const PoolFile& file) : file_(file), size_(file.size) {}

  void call(const Event& call, CallEvents* out) override {
    switch (static_cast<PoolCall>(call.code)) {
      case PoolCall::kContent:
      case PoolCall::kWrite:
        return write(file_.offset + call.addr, call.value, out);
      case PoolCall::kSize:
        return resize(call.size, out);
      case PoolCall::kMsync:
      case PoolCall::kFsync:
      case PoolCall::kWrittenThrough:
        return sync(call.addr, call.size, out);
    }
  }

  void pass(const Event& event) override {
    if (event.kind == EventKind::kCut) unsynced_.clear();
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    if (event.addr - file_.offset < file_.window) note(event.addr, event.size);
  }

 private:
  void note(uint64_t at, uint64_t size) {
    for (uint64_t line = at / kLineSize; line <= (at + size - 1) / kLineSize; ++line) {
      unsynced_.insert(line);
      written_.insert(line);
    }
  }

  void store(uint64_t at, std::span<const uint8_t> bytes, uint8_t flags, CallEvents* out) {
    out->store(at, bytes, flags);
    note(at, bytes.size());
  }

  // Splits a longer write into pieces of at most a line; all pieces are one store.
  void write(uint64_t at, std::span<const uint8_t> bytes, CallEvents* out) {
    if (bytes.empty()) return;
    if (bytes.size() <= kLineSize) return store(at, bytes, 0, out);
    for (uint8_t flags = 0; !bytes.empty(); flags = kStoreContinues) {
      const size_t piece = std::min<uint64_t>(bytes.size(), kLineSize - at % kLineSize);
      store(at, bytes.first(piece), flags, out);
      at += piece;
      bytes = bytes.subspan(piece);
    }
  }

  void sync(uint64_t offset, uint64_t length, CallEvents* out) {
    const uint64_t most = file_.window - std::min(file_.window, offset);
    const uint64_t begin = file_.offset + offset, end = begin + std::min(most, length);
    if (std::exchange(resized_, false)) out->marker(kSizeMarker);
    auto line = unsynced_.lower_bound(begin / kLineSize);
    while (line != unsynced_.end() && *line * kLineSize < end) {
      out->flush(*line * kLineSize, FlushKind::kClwb);
      line = unsynced_.erase(line);
    }
    out->fence(FenceKind::kSfence);
  }

  void resize(uint64_t size, CallEvents* out) {
    const uint64_t before = std::exchange(size_, size);
    resized_ = true;
    if (size >= before) return;
    const uint64_t begin = file_.offset + size, end = file_.offset + file_.window;
    static constexpr std::array<uint8_t, kLineSize> kZeros{};
    std::vector<uint64_t> lines;
    for (auto line = written_.lower_bound(begin / kLineSize); line != written_.end() && *line * kLineSize < end;
         ++line) {
      lines.push_back(*line);
    }
    if (lines.empty()) return;
    // A crash leaves the old file, with the stores that were on their way, or the file without the part that was cut
    // off. No file system leaves a mixture of both. The last crash point of the old file is here, where the first of
    // these flushes takes something away; at the later flushes there would be fewer of the same images. No other crash
    // point comes before all lines are zeros.
    out->marker(kSizeMarker);
    for (const uint64_t line : lines) out->flush(line * kLineSize, FlushKind::kClflush);
    out->begin_change();
    for (const uint64_t line : lines) {
      const uint64_t from = std::max(begin, line * kLineSize);
      store(from, std::span(kZeros).first((line + 1) * kLineSize - from), 0, out);
      out->flush(line * kLineSize, FlushKind::kClflush);
    }
    out->end_change();
  }

  const PoolFile file_;
  uint64_t size_;                          // of the file now
  bool resized_ = false;                   // since the last sync
  std::set<uint64_t> unsynced_, written_;  // lines
};

}  // namespace

std::unique_ptr<PoolCalls> make_memory_calls(const PoolFile& file) { return std::make_unique<MemoryCalls>(file); }

}  // namespace powercut
