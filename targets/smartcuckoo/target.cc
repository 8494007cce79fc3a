// SmartCuckoo behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=8|2|4|16|64|...: initial number of buckets of each of the two tables, a power of two",
     Log2<&Options::log2>(2, uint64_t{1} << kMaxLog2)},
    {"stash=0|4|1|...: buckets of the stash, for items whose insertion is predetermined to fail",
     Number<&Options::stash>(0, 64)},
    {"auto_expand=on|off: such an insert that finds the stash full rehashes into a larger table (off: FULL)",
     Switch<&Options::auto_expand>()},
    {"forest=scan|on_demand: open rebuilds the whole pseudoforest, or an operation learns the paths that it needs",
     Flag<&Options::on_demand, "on_demand">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "smartcuckoo", kOptions, out, ItemSizes{kMostKey, kMostValue});
}

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

POWERCUT_SCHEME_TARGET(
    "smartcuckoo", kOptions.lines,
    "SmartCuckoo: cuckoo hashing with a pseudoforest that predetermines failing insertions",
    "Sun, Hua, Jiang, Li, Cao, Zuo: SmartCuckoo: A Fast and Cost-Efficient Hashing Index Scheme for Cloud "
    "Storage Systems, USENIX ATC 2017",
    "expand", "rehash")

}  // namespace powercut::smartcuckoo
