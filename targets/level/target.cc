// Level hashing behind the target ABI.
#include <cstring>

#include "targets/common/scheme_target.h"
#include "targets/level/table.h"

namespace powercut::level {

void Table::Traits(const Options&, powercut_traits* out) {
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b: \"the hash table contains two duplicate key-value items, which however does "
      "not impact on the data consistency\"";
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  // A fresh file is zeroes already. Without that, format would write every bucket's header a second time, and every
  // entry of the allocator.
  out->needs_zeroed_pool = 1;
}

Item Table::ItemOf(const uint8_t* key, const uint8_t* value) const {
  Item item;
  std::memcpy(item.bytes, key, options_.key_size);
  if (value != nullptr) std::memcpy(item.bytes + options_.key_size, value, options_.value_size);
  return item;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  const uint8_t* found = nullptr;
  const powercut_status status = Lookup(ItemOf(key), &found);
  if (status == POWERCUT_OK) std::memcpy(value, found, options_.value_size);
  return status;
}

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "expand") == 0) return Expand();
  if (std::strcmp(command, "shrink") == 0) return Shrink();
  return POWERCUT_UNSUPPORTED;
}

namespace {

constexpr const char* kCommands[] = {"expand", "shrink", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "level",
    .summary = "Level hashing: two levels that share buckets, log-free but for updates of full buckets",
    .paper = "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::level

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::level::kTarget : nullptr;
}
