// A log on raw flash, in two erase blocks. A full block is copied to the other one and erased; what an interrupted
// program or erase leaves is read over, or erased again. The bug erases first: its copies are in memory alone.
//
// class: flash
// bug: lost-item
// operations: [("insert", 1, 2), ("erase", 1), ("insert", 3), ("insert", 4)]
// options: {"key_size": 8, "value_size": 8}
#include <map>
#include <string>

#include "powercut/flash.h"
#include "targets/regression/pair.h"

namespace {

constexpr uint32_t kPages = 4, kPage = 32, kSpare = 8;

struct Page {
  uint64_t there;  // 0: the key is erased
  uint8_t key[8];
  uint8_t value[16];
};
static_assert(sizeof(Page) == kPage);

struct Table : powercut_table {
  const powercut_flash flash;
  const uint32_t value_size;
  std::map<uint64_t, std::pair<uint64_t, Page>> pages;  // by key: the newest, with its number
  uint64_t number = 0, block = 0, used = 0;

  Table(powercut_pool pool, const powercut_config& config)
      : flash(powercut_flash_in(pool, kPages, kPage, kSpare, 1000)), value_size(config.value_size) {}

  static powercut_status check(const powercut_config& config) {
    return config.key_size == sizeof(Page::key) && config.value_size <= sizeof(Page::value) ? POWERCUT_OK
                                                                                            : POWERCUT_BAD_CONFIG;
  }
  static void declare(powercut_traits* traits) {
    traits->copy_bound = 1;
    traits->needs_zeroed_pool = 1;
  }
  static uint64_t id(powercut_bytes key) {
    uint64_t id;
    std::memcpy(&id, key.data, sizeof id);
    return id;
  }

  void format() {}
  // Takes in the pages of a block; returns how many cannot be programmed any more. One without a page that can be read,
  // as an interrupted erase leaves it, is erased.
  uint64_t read(uint64_t from) {
    uint64_t seen = 0, good = 0;
    for (uint64_t i = 0; i < kPages; ++i) {
      Page page;
      uint64_t written = 0;
      const powercut_flash_status status = powercut_flash_read(&flash, from * kPages + i, &page, &written);
      if (status == POWERCUT_FLASH_ERASED) break;
      ++seen;
      if (status != POWERCUT_FLASH_OK) continue;
      ++good;
      auto& newest = pages[id({page.key, sizeof page.key})];
      if (written >= newest.first) newest = {written, page};
      if (written > number) number = written;
    }
    if (seen != 0 && good == 0) {
      powercut_flash_erase(&flash, from);
      return 0;
    }
    return seen;
  }
  powercut_status recover() {
    uint64_t seen[2];
    for (uint64_t b = 0; b < 2; ++b) seen[b] = read(b);
    block = seen[1] > seen[0] ? 1 : 0;
    used = seen[block];
    if (seen[1 - block] != 0) move();  // it was interrupted
    return POWERCUT_OK;
  }
  // Whatever is newest goes to the other block.
  void move() {
    powercut_flash_erase(&flash, 1 - block);
    if (BUG) powercut_flash_erase(&flash, block);
    uint64_t to = 0;
    for (auto& [key, item] : pages) {
      if (item.second.there == 0) continue;
      item.first = ++number;
      powercut_flash_program(&flash, (1 - block) * kPages + to++, &item.second, &item.first);
    }
    if (!BUG) powercut_flash_erase(&flash, block);
    block = 1 - block;
    used = to;
  }
  uint64_t live() const {
    uint64_t live = 0;
    for (const auto& [key, item] : pages) live += item.second.there;
    return live;
  }
  powercut_status append(powercut_bytes key, const void* value, uint64_t there) {
    if (there != 0 && live() == kPages - 1) return POWERCUT_FULL;
    Page page{.there = there, .key = {}, .value = {}};
    std::memcpy(page.key, key.data, sizeof page.key);
    if (there != 0) std::memcpy(page.value, value, value_size);
    if (used == kPages) move();
    ++number;
    if (powercut_flash_program(&flash, block * kPages + used++, &page, &number) != POWERCUT_FLASH_OK) {
      return POWERCUT_CORRUPT;
    }
    pages[id(key)] = {number, page};
    return POWERCUT_OK;
  }
  const Page* find(powercut_bytes key) {
    const auto at = pages.find(id(key));
    return at == pages.end() || at->second.second.there == 0 ? nullptr : &at->second.second;
  }

  powercut_status insert(powercut_bytes key, powercut_bytes value) { return append(key, value.data, 1); }
  powercut_status update(powercut_bytes, powercut_bytes) { return POWERCUT_UNSUPPORTED; }
  powercut_status erase(powercut_bytes key) {
    return find(key) == nullptr ? POWERCUT_NOT_FOUND : append(key, nullptr, 0);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) {
    const Page* page = find(key);
    if (page == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, page->value, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) {
    if (const Page* page = find(key)) item(context, key, {page->value, value_size});
    return POWERCUT_OK;
  }
};

}  // namespace

extern "C" powercut_status powercut_target_device(const powercut_config*, powercut_device* out) {
  *out = {.medium = POWERCUT_FLASH, .bytes = kPage + kSpare, .unit = kPages};
  return POWERCUT_OK;
}

POWERCUT_PAIR(Table)
