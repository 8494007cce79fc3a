#include "checker/faults/damage/device_cells.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/faults/unwritten_loads.h"
#include "powercut/contents.h"
#include "powercut/flash.h"
#include "powercut/nor.h"

namespace powercut {

DeviceCells::DeviceCells(const powercut_device& device, uint64_t pool_size)
    : device_(device), lines_(pool_size / kLineSize), blocks_(has_blocks() ? lines_ / (device.unit + 1) : 0) {}

uint64_t DeviceCells::count() const { return (has_blocks() ? blocks_ : lines_) * unit(); }

std::vector<uint64_t> DeviceCells::in(uint64_t line, uint64_t mask) const {
  std::vector<uint64_t> out;
  if (has_blocks()) {
    if (line >= blocks_ && line < blocks_ + count() && mask != 0) out.push_back(line - blocks_);
    return out;
  }
  for (uint64_t word = 0; word < unit(); ++word) {
    if ((mask & line_mask(word * 8, 8)) != 0) out.push_back(line * unit() + word);
  }
  return out;
}

uint64_t DeviceCells::name_at(const uint8_t* pool, uint64_t cell) const {
  return load_word(pool + line_of(cell) * kLineSize + word_of(cell) * 8);
}

bool DeviceCells::is_readable(const uint8_t* pool, uint64_t cell) const {
  if (is_nor()) {
    const uint64_t programs = name_at(pool, cell);
    return programs != 0 && programs < POWERCUT_NOR_BAD;
  }
  if (is_flash()) {
    const uint64_t erases = load_word(pool + cell / unit() * kLineSize);
    if (erases >= POWERCUT_FLASH_UNSTABLE) return false;
    if (load_word(pool + line_of(cell) * kLineSize + 8) != erases + 1) return false;
  }
  return !named(name_at(pool, cell)).empty();
}

std::vector<uint8_t> DeviceCells::read(const uint8_t* pool, uint64_t cell) const {
  if (!is_nor()) return named(name_at(pool, cell));
  const uint8_t* const at = pool + line_of(cell) * kLineSize + sizeof(uint64_t);
  return {at, at + bytes()};
}

LineSet DeviceCells::holding(const uint8_t* pool, uint64_t cell, std::span<const uint8_t> content) const {
  if (!is_nor()) return renamed(pool, cell, name_of(content));
  Content line = content_at(pool, line_of(cell));
  std::memcpy(line.bytes.data() + sizeof(uint64_t), content.data(), content.size());
  return definite_line(line_of(cell), line);
}

LineSet DeviceCells::unreadable(const uint8_t* pool, uint64_t cell) const {
  return renamed(pool, cell, is_nor() ? name_at(pool, cell) | POWERCUT_NOR_BAD : POWERCUT_NO_CONTENT);
}

std::vector<uint8_t> DeviceCells::named(uint64_t name) const {
  if (name == 0) return std::vector<uint8_t>(bytes());
  const auto* const at = static_cast<const uint8_t*>(powercut_content(name, bytes()));
  return at == nullptr ? std::vector<uint8_t>{} : std::vector<uint8_t>(at, at + bytes());
}

uint64_t DeviceCells::name_of(std::span<const uint8_t> content) const {
  return powercut_content_name(content.data(), content.size(), nullptr, 0);
}

LineSet DeviceCells::renamed(const uint8_t* pool, uint64_t cell, uint64_t name) const {
  Content content = content_at(pool, line_of(cell));
  std::memcpy(content.bytes.data() + word_of(cell) * 8, &name, sizeof name);
  return definite_line(line_of(cell), content);
}

void DeviceCells::fill_line(uint8_t* pool, uint64_t line, uint64_t seed) const {
  std::vector<uint8_t> content(bytes());
  for (uint64_t cell : in(line, ~uint64_t{0})) {
    // A seed of 0 is all ones, of each cell.
    fill_noise(content, seed == 0 ? 0 : seed + (word_of(cell) << 16));
    if (is_nor()) {
      const uint64_t once = 1;
      std::memcpy(pool + line * kLineSize, &once, sizeof once);
      std::memcpy(pool + line * kLineSize + sizeof once, content.data(), content.size());
      continue;
    }
    const uint64_t name = name_of(content);
    uint8_t* const at = pool + line * kLineSize + word_of(cell) * 8;
    std::memcpy(at, &name, sizeof name);
    if (!is_flash()) continue;
    const uint64_t programmed = load_word(pool + cell / unit() * kLineSize) + 1;
    std::memcpy(at + 8, &programmed, sizeof programmed);
  }
}

std::string DeviceCells::describe(uint64_t cell) const {
  if (is_nor()) return absl::StrCat("cell ", cell % unit(), " of sector ", cell / unit());
  if (!is_flash()) return absl::StrCat("sector ", cell);
  return absl::StrCat("page ", cell % unit(), " of block ", cell / unit());
}

std::string DeviceCells::describe(uint64_t first, uint64_t last) const {
  return first == last ? describe(first) : absl::StrCat("sectors ", first, " to ", last);
}

}  // namespace powercut
