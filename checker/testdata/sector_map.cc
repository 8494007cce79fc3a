// A map on a block device, for tests of faults: the item of a key is one atomic write unit of two sectors, written
// where it lies and durable at once. With CHECKED it has a checksum, and what does not fit it is CORRUPT; without it is
// trusted.
#include <cstring>

#include "powercut/block.h"
#include "targets/regression/pair.h"

namespace {

constexpr uint32_t kSector = 512, kUnit = 2;

struct Item {
  uint64_t checksum, there;
  uint8_t value[kSector * kUnit - 16];

  uint64_t sum() const {
    uint64_t sum = there;
    for (uint8_t byte : value) sum = sum * 31 + byte;
    return sum;
  }
};

struct Table : powercut_table {
  const powercut_block device;
  const uint32_t value_size;

  Table(powercut_pool pool, const powercut_config& config)
      : device(powercut_block_in(pool, kSector, kUnit, 1)), value_size(config.value_size) {}
  static powercut_status check(const powercut_config& config) {
    return config.key_size == 8 && config.value_size <= sizeof Item::value ? POWERCUT_OK : POWERCUT_BAD_CONFIG;
  }
  static void declare(powercut_traits* traits) {
    traits->copy_bound = 1;
    traits->detects_damage = CHECKED;
  }
  // Keys have a unit each: that of their first byte.
  uint64_t sector_of(powercut_bytes key) const {
    return *static_cast<const uint8_t*>(static_cast<const void*>(key.data)) * uint64_t{kUnit} % device.sectors;
  }
  powercut_status read(powercut_bytes key, Item* item) const {
    if (powercut_block_read(&device, sector_of(key), kUnit, item) != 0) return POWERCUT_CORRUPT;
    if (CHECKED && item->checksum != item->sum()) return POWERCUT_CORRUPT;
    return item->there != 0 ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }
  powercut_status write(powercut_bytes key, const void* value, uint64_t there) {
    Item item = {};
    item.there = there;
    if (there != 0) std::memcpy(item.value, value, value_size);
    item.checksum = item.sum();
    powercut_block_write(&device, sector_of(key), kUnit, &item, POWERCUT_BLOCK_FUA);
    return POWERCUT_OK;
  }

  void format() {
    powercut_block_trim(&device, 0, device.sectors);
    powercut_block_flush(&device);
  }
  powercut_status recover() { return POWERCUT_OK; }
  powercut_status insert(powercut_bytes key, powercut_bytes value) { return write(key, value.data, 1); }
  powercut_status update(powercut_bytes key, powercut_bytes value) {
    Item item;
    const powercut_status status = read(key, &item);
    return status == POWERCUT_OK ? write(key, value.data, 1) : status;
  }
  powercut_status erase(powercut_bytes key) {
    Item item;
    const powercut_status status = read(key, &item);
    return status == POWERCUT_OK ? write(key, nullptr, 0) : status;
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) {
    Item item;
    const powercut_status status = read(key, &item);
    if (status != POWERCUT_OK) return status;
    *size = value_size;
    std::memcpy(value, item.value, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) {
    Item held;
    const powercut_status status = read(key, &held);
    if (status == POWERCUT_OK) item(context, key, {held.value, value_size});
    return status == POWERCUT_NOT_FOUND ? POWERCUT_OK : status;
  }
};

}  // namespace

extern "C" powercut_status powercut_target_device(const powercut_config*, powercut_device* out) {
  *out = {.medium = POWERCUT_BLOCK, .bytes = kSector, .unit = kUnit};
  return POWERCUT_OK;
}

POWERCUT_PAIR(Table)
