// TurboHash behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {
namespace {

constexpr OptionTable<Options> kOptions({
    {"shards=2|1|4|8|...: number of shards, a power of two", Log2<&Options::shards_log2>(1, 1 << 20)},
    {"buckets=2|1|4|16|...: initial number of buckets of a shard, a power of two",
     Log2<&Options::buckets_log2>(1, 1 << 16)},
    {"scope=16|1|2|4|8|...: most buckets that a probe visits", Number<&Options::scope>(1, 64)},
    {"tags=auto|scalar|avx2|avx512: how tags are compared; auto takes the widest kind that the CPU has",
     Named<&Options::tags>()},
    {"items=auto|pointer: auto keeps keys and values of at most 8 bytes in the slot; else the slot holds hash and "
     "pointer",
     Flag<&Options::pointer, "pointer">()},
    {"gc=auto|manual: an insert that finds no place in a shard with many deleted items rewrites it at its size, or "
     "doubles it always",
     Flag<&Options::auto_gc, "auto">()},
    {"hash=mixed|multiplied: how keys are spread; multiplied is the function of the authors' code, for keys of 8 bytes",
     Flag<&Options::multiplied, "multiplied">()},
    {"deleted=first|last: which deleted slot of its path an insert takes, that of the paper's text or that of the "
     "authors' code",
     Flag<&Options::last_deleted, "last">()},
    {"concurrency=single|concurrent: whether several threads may use the table",
     Flag<&Options::concurrent, "concurrent">()},
    {"transactions=off|on: whether each operation is one transaction with an undo log, as 3.7 says of PMDK",
     Switch<&Options::transactional>()},
    {"reclaim=wait|pool: with threads, a writer awaits the readers of what it frees, or leaves it in a garbage pool "
     "until "
     "their epoch has passed",
     Flag<&Options::garbage_pool, "pool">()},
    {"allocator=shared|threads: whether cells come from one heap with one lock and one log, or each thread has a chunk "
     "of "
     "the heap and a log of its own",
     Flag<&Options::has_chunks, "threads">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "turbohash", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (out->tags == Tags::kAuto) out->tags = BestTags();
  if (!HasTags(out->tags)) {
    return BadConfig(config, "this CPU cannot do tags=%s; tags=auto takes what it can do", NameOf(out->tags));
  }
  if (out->multiplied && (out->key_size != 8 || out->least_key_size != 8)) {
    return BadConfig(config, "hash=multiplied takes keys of 8 bytes; hash=mixed takes keys of all sizes");
  }
  out->pointer = out->pointer || out->are_mixed() || config.key_size > 8 || config.value_size > 8;
  out->has_chunks = out->has_chunks && out->pointer;
  return CheckSizes(config, "turbohash", kSizes);
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->notes = "an insert of a present key is an update (3.4), but for concurrency=concurrent in `hardened`";
  out->thread_safe = options.concurrent ? 1 : 0;
  out->checks_exists = options.ChecksExists() ? 1 : 0;
  // Format would otherwise write every bucket, the directory's second sets and the bits of the cells.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET(
    "turbohash", kOptions.lines, "TurboHash: shards of 256-byte buckets, bounded linear probing, near-place updates",
    "Zhao, Zhong, Jiang: TurboHash: A Hash Table for Key-value Store on Persistent Memory, SYSTOR 2023", "expand", "gc")

}  // namespace powercut::turbohash
