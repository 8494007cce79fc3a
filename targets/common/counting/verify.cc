// Walks the items of an open table, and verifies its structure.
#include <algorithm>

#include "targets/common/counting/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::counting {

uint64_t Table::OffsetOfOverflow(uint32_t page) const {
  return static_cast<uint64_t>(static_cast<const uint8_t*>(device_.PlaceOf(geometry_.overflow + page)) - pool_.base);
}

bool Table::Reaches(uint64_t offset) const {
  for (uint32_t page = 0; page < geometry_.overflow_pages; ++page) {
    if (OffsetOfOverflow(page) == offset) return overflow_used_[page] != 0;
  }
  return false;
}

// The parts of a sum in the order in which they add up: data segment, change segment, RAM buffer.
std::vector<Table::Part> Table::PartsOf(uint32_t slot) {
  std::vector<Part> parts;
  const auto add = [&](const Change& change, uint64_t page, uint32_t index) {
    for (Part& part : parts) part.covered = part.covered || (change.erased && part.key == change.key);
    parts.push_back({change.key, change.delta, false, page, index});
  };
  Image image(geometry_.block_entries);
  if (Load(slot, &image)) {
    for (uint32_t i = 0; i < image.home.size(); ++i) {
      const Cell& cell = image.home[i];
      if (cell.tag != Tag::kCount) continue;
      add({cell.entry.key, cell.entry.count, false}, BlockAt(place_[slot]) + i / options_.entries,
          i % options_.entries);
    }
    for (uint32_t i = 0; i < image.chain.size(); ++i) {
      const Entry& entry = image.chain[i].entry;
      add({entry.key, entry.count, false}, geometry_.overflow + image.pages[i / options_.entries],
          i % options_.entries);
    }
  }
  std::vector<Staged> staged;
  ReadStaged(slot, &staged);
  for (const Staged& one : staged) add(one.change, one.page, one.index);
  if (buffered()) {
    for (const Change& change : buffer_.slot(slot)) add(change, kInBuffer, 0);
  }
  return parts;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto slot = static_cast<uint32_t>(region);
  Image image(geometry_.block_entries);
  if (!Load(slot, &image)) return Broken(message, size, "data block %u cannot be read", slot);
  std::vector<uint64_t> keys;
  const auto last = static_cast<uint32_t>(image.home.size() - 1);
  for (uint32_t i = 0; i <= last + image.chain.size(); ++i) {
    const Cell& cell = i <= last ? image.home[i] : image.chain[i - last - 1];
    if (cell.tag == Tag::kEmpty || (cell.tag == Tag::kPointer && i == last)) continue;
    if (cell.tag != Tag::kCount) return Broken(message, size, "data block %u: entry %u is of no kind", slot, i);
    const Position home = PositionOf(cell.entry.key);
    if (home.slot != slot) return Broken(message, size, "data block %u has a key of block %u", slot, home.slot);
    if (buffered() && cell.entry.count == 0) return Broken(message, size, "data block %u: entry %u is 0", slot, i);
    if (home.index > i) return Broken(message, size, "data block %u: entry %u stands before its home", slot, i);
    for (uint32_t before = home.index; before < std::min(i, last + 1); ++before) {
      if (image.home[before].tag != Tag::kEmpty) continue;
      return Broken(message, size, "data block %u: probing ends before entry %u", slot, i);
    }
    keys.push_back(cell.entry.key);
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    return Broken(message, size, "data block %u has a key twice", slot);
  }
  for (const uint32_t page : image.pages) {
    if (overflow_used_[page] == 0) return Broken(message, size, "overflow page %u is free and in a chain", page);
  }
  for (uint32_t other = 0; other < slot; ++other) {
    Image beside(geometry_.block_entries);
    if (!Load(other, &beside)) continue;
    for (const uint32_t page : beside.pages) {
      if (std::find(image.pages.begin(), image.pages.end(), page) == image.pages.end()) continue;
      return Broken(message, size, "overflow page %u is in the chains of blocks %u and %u", page, other, slot);
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::counting
