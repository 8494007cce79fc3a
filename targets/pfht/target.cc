// PFHT behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

void Table::Traits(const Options&, powercut_traits* out) {
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b, whose protocol this is (4.1): \"the hash table contains two duplicate "
      "key-value "
      "items, which however does not impact on the data consistency\"";
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  // Format writes no bucket, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

namespace {

constexpr const char* kCommands[] = {"expand", "shrink", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "pfht",
    .summary = "PFHT: cuckoo hashing with buckets, at most one displacement, and a chained stash",
    .paper = "Debnath et al., SIGOPS OSR 2016; consistency as in Zuo, Hua and Wu, OSDI 2018, 3.3",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::pfht

const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::pfht::kTarget : nullptr;
}
