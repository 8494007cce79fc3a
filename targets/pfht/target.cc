// PFHT behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=8|2|4|16|...: initial number of buckets, a power of two", Log2<&Options::buckets_log2>(2, 1 << 28)},
    {"slots=4|8|16: slots of a bucket", Number<&Options::slots>()},
    {"stash=3|0|10|25|...: percent of the table's places that are in the stash, rounded up to a whole node",
     Number<&Options::stash>(0, 50)},
    {"choice=first|less_loaded: insert into the first of the two buckets that has an empty slot, or the emptier one",
     Named<&Options::choice>()},
    {"update=logged|opportunistic|atomic: the undo log; log-free where the bucket has an empty slot; or one 8-byte "
     "store (values of 8 bytes only)",
     Named<&Options::update>()},
    {"resize=copy|rehash: a whole table is built and then named, or items move one by one into a table that is named",
     Named<&Options::resize>()},
    {"auto_expand=on|off: an insert that finds the stash full doubles the table and tries again (off: FULL)",
     Switch<&Options::auto_expand>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "pfht", kOptions, out);
  return status == POWERCUT_OK
             ? CheckSizes(config, "pfht", out->update == UpdateKind::kAtomic ? InPlace::kAtomic : InPlace::kLogged)
             : status;
}

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

POWERCUT_SCHEME_TARGET("pfht", kOptions.lines,
                       "PFHT: cuckoo hashing with buckets, at most one displacement, and a chained stash",
                       "Debnath et al., SIGOPS OSR 2016; consistency as in Zuo, Hua and Wu, OSDI 2018, 3.3", "expand",
                       "shrink")

}  // namespace powercut::pfht
