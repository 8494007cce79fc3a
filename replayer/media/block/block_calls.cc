// Calls on a file that is a block device.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "replayer/media/block/block.h"
#include "replayer/media/pool_calls.h"
#include "tracer/format/content_name.h"

namespace powercut {
namespace {

std::span<const uint8_t> bytes_of(const uint64_t* words, size_t count) {
  return {reinterpret_cast<const uint8_t*>(words), count * sizeof *words};
}

// The file as the calls have made it.
class BlockCalls final : public PoolCalls {
 public:
  explicit BlockCalls(const PoolFile& file) : offset_(file.offset), layout_(*file.device) {}

  void call(const Event& call, CallEvents* out) override {
    out_ = out;
    switch (static_cast<PoolCall>(call.code)) {
      case PoolCall::kContent:
        write(call.addr, call.value);
        unsynced_.clear();
        return;
      case PoolCall::kWrite:
        return write(call.addr, call.value);
      case PoolCall::kSize:
        return resize(call.size);
      case PoolCall::kWrittenThrough:
        return force(call.addr, call.size);
      case PoolCall::kMsync:
      case PoolCall::kFsync:
        // There is one device: a flush of it is one of the file.
        unsynced_.clear();
        return out->fence(FenceKind::kDevice);
    }
  }

 private:
  using Sector = std::vector<uint8_t>;

  // The file grows where `bytes` end behind it. A partly written sector keeps its other bytes: like the page cache,
  // this function writes the whole sector at once.
  void write(uint64_t offset, std::span<const uint8_t> bytes);
  void resize(uint64_t size);
  // The writes to the range are durable from now on.
  void force(uint64_t offset, uint64_t length);
  void set_size(uint64_t size);
  void shrink(uint64_t size);
  Sector& at(uint64_t sector);
  // One write of sectors of one unit, whose contents are in place.
  void store(uint64_t first, uint64_t end);

  const uint64_t offset_;
  const DeviceLayout layout_;
  CallEvents* out_ = nullptr;  // of the call at hand
  uint64_t size_ = 0;
  std::map<uint64_t, Sector> sectors_;  // that were written; others are zeroes
  std::set<uint64_t> unsynced_;
  std::set<uint64_t> named_;  // contents that the trace has
};

BlockCalls::Sector& BlockCalls::at(uint64_t sector) {
  return sectors_.try_emplace(sector, layout_.sector_size, uint8_t{0}).first->second;
}

void BlockCalls::store(uint64_t first, uint64_t end) {
  std::vector<uint64_t> names;
  for (uint64_t sector = first; sector < end; ++sector) {
    const Sector& bytes = at(sector);
    const uint64_t name = content_name(bytes);
    if (name != 0 && named_.insert(name).second) out_->content(bytes);
    names.push_back(name);
    unsynced_.insert(sector);
  }
  out_->store(offset_ + layout_.word(first), bytes_of(names.data(), names.size()));
}

void BlockCalls::write(uint64_t offset, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  if (offset + bytes.size() > size_) set_size(offset + bytes.size());
  const uint64_t unit = layout_.unit * layout_.sector_size;
  while (!bytes.empty()) {
    const size_t here = std::min<uint64_t>(bytes.size(), unit - offset % unit);
    const uint64_t first = offset / layout_.sector_size, end = layout_.sectors(offset + here);
    for (size_t done = 0; done < here;) {
      const uint64_t in_sector = (offset + done) % layout_.sector_size;
      const size_t part = std::min<uint64_t>(here - done, layout_.sector_size - in_sector);
      std::memcpy(at((offset + done) / layout_.sector_size).data() + in_sector, bytes.data() + done, part);
      done += part;
    }
    store(first, end);
    offset += here;
    bytes = bytes.subspan(here);
  }
}

void BlockCalls::force(uint64_t offset, uint64_t length) {
  const uint64_t most = UINT64_MAX - layout_.sector_size;
  const uint64_t end = offset > most || length > most - offset ? UINT64_MAX : layout_.sectors(offset + length);
  auto sector = unsynced_.lower_bound(offset / layout_.sector_size);
  while (sector != unsynced_.end() && *sector < end) {
    out_->flush(offset_ + layout_.word(*sector), FlushKind::kForce);
    sector = unsynced_.erase(sector);
  }
}

// The size is durable at once: the file system keeps it.
void BlockCalls::set_size(uint64_t size) {
  size_ = size;
  out_->store(offset_, bytes_of(&size, 1));
  out_->flush(offset_, FlushKind::kForce);
}

void BlockCalls::resize(uint64_t size) {
  if (size > size_) set_size(size);
  if (size < size_) shrink(size);
}

// A power cut before the force of the new size finds the file whole, or cut off: bytes behind the size are in no image.
// The bytes behind the new size become zeroes afterwards, where no power cut can tell. A file that grows again finds
// these zeroes.
void BlockCalls::shrink(uint64_t size) {
  const uint64_t first = size / layout_.sector_size;
  set_size(size);
  std::vector<uint64_t> cut;
  for (auto sector = sectors_.lower_bound(first); sector != sectors_.end(); ++sector) cut.push_back(sector->first);
  if (cut.empty()) return;
  out_->begin_change();
  for (const uint64_t sector : cut) {
    Sector& bytes = at(sector);
    const uint64_t begin = sector * layout_.sector_size;
    const uint64_t kept = size > begin ? size - begin : 0;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(kept), bytes.end(), uint8_t{0});
    store(sector, sector + 1);
    if (kept != 0) continue;  // what it holds is written like any other part of the file
    force(begin, layout_.sector_size);
    sectors_.erase(sector);
  }
  out_->end_change();
}

}  // namespace

std::unique_ptr<PoolCalls> make_block_calls(const PoolFile& file) { return std::make_unique<BlockCalls>(file); }

}  // namespace powercut
