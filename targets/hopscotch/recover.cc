// Format and open. A bit of a bitmap counts or it does not: recovery frees the array that a cut expansion built or
// left, and has nothing else to repair.
#include <new>

#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {
namespace {

constexpr uint64_t kMagic = 0x31504f4843435750;  // "PWCCHOP1"

}  // namespace

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every bitmap is durably empty.
  const uint64_t array = table.allocator_.Allocate(table.ArrayBytes(options.buckets));
  if (array == 0) return POWERCUT_FULL;
  SetWord(reinterpret_cast<uint64_t*>(pool.base + array), options.buckets);
  SetWord(&table.root()->array, array);
  SetWord(&table.root()->magic, kMagic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table table(pool, options);
  if (table.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  const uint64_t array = table.root()->array;
  if (!table.allocator_.Matches() || !table.allocator_.Contains(array, pmem::kLine)) return POWERCUT_CORRUPT;
  const uint64_t count = table.Current().count;
  if (count < 2 || count > pool.size / table.stride() || !table.allocator_.Contains(array, table.ArrayBytes(count)) ||
      !table.allocator_.Sweep([&](uint64_t offset) { return offset == array; })) {
    return POWERCUT_CORRUPT;
  }
  *out = new (std::nothrow) Table(table);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

}  // namespace powercut::hopscotch
