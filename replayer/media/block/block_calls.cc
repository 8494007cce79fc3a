#include "tracer/stream/device_file.h"

#include <algorithm>
#include <cstring>

#include "tracer/format/content_name.h"

namespace powercut {
namespace {

std::span<const uint8_t> bytes_of(const uint64_t* words, size_t count) {
  return {reinterpret_cast<const uint8_t*>(words), count * sizeof *words};
}

}  // namespace

DeviceFile::Sector& DeviceFile::at(uint64_t sector) {
  return sectors_.try_emplace(sector, layout_.sector_size, uint8_t{0}).first->second;
}

void DeviceFile::store(uint64_t first, uint64_t end) {
  std::vector<uint64_t> names;
  for (uint64_t sector = first; sector < end; ++sector) {
    const Sector& bytes = at(sector);
    const uint64_t name = content_name(bytes);
    if (name != 0 && named_.insert(name).second) sink_.content(bytes);
    names.push_back(name);
    unsynced_.insert(sector);
  }
  sink_.store(layout_.word(first), bytes_of(names.data(), names.size()));
}

void DeviceFile::write(uint64_t offset, std::span<const uint8_t> bytes) {
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

void DeviceFile::force(uint64_t offset, uint64_t length) {
  const uint64_t most = UINT64_MAX - layout_.sector_size;
  const uint64_t end = offset > most || length > most - offset ? UINT64_MAX : layout_.sectors(offset + length);
  auto sector = unsynced_.lower_bound(offset / layout_.sector_size);
  while (sector != unsynced_.end() && *sector < end) {
    sink_.force(layout_.word(*sector));
    sector = unsynced_.erase(sector);
  }
}

// The file system keeps the size, at once (STREAM.md, "Devices").
void DeviceFile::set_size(uint64_t size) {
  size_ = size;
  sink_.store(0, bytes_of(&size, 1));
  sink_.force(0);
}

void DeviceFile::resize(uint64_t size) {
  if (size > size_) set_size(size);
  if (size < size_) shrink(size);
}

// A power cut before the force of the new size finds the file with all that it had, or cut off: what lies behind the
// size is in no image. So what was cut off becomes zeroes afterwards, where no power cut can tell, for the day that the
// file grows again.
void DeviceFile::shrink(uint64_t size) {
  const uint64_t first = size / layout_.sector_size;
  set_size(size);
  std::vector<uint64_t> cut;
  for (auto sector = sectors_.lower_bound(first); sector != sectors_.end(); ++sector) cut.push_back(sector->first);
  if (cut.empty()) return;
  sink_.phase(false);
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
  sink_.phase(true);
}

}  // namespace powercut
