// SmartCuckoo behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

void Table::Traits(const Options& options, powercut_traits* out) {
  out->notes = "one thread; insert does not look for the key (Algorithm 1)";
  // Tokens of the first directory, the undo log's word and the allocator's entries.
  out->needs_zeroed_pool = 1;
  // Where recovery scans the table it drops the second copy.
  if (!options.hardened || !options.on_demand) return;
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b: \"the hash table contains two duplicate key-value items, which however does "
      "not impact on the data consistency\"; 3.3 carries the scheme over to cuckoo paths";
}

}  // namespace powercut::smartcuckoo

namespace {

constexpr const char* kCommands[] = {"expand", "rehash", nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::smartcuckoo::Table>::Entry({
    .name = "smartcuckoo",
    .summary = "SmartCuckoo: cuckoo hashing with a pseudoforest that predetermines failing insertions",
    .paper = "Sun, Hua, Jiang, Li, Cao, Zuo: SmartCuckoo: A Fast and Cost-Efficient Hashing Index Scheme for Cloud "
             "Storage Systems, USENIX ATC 2017",
    .options = powercut::smartcuckoo::kOptionLines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
