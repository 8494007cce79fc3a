// Clevel hashing behind the target ABI.
#include "targets/clevel/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::clevel {
namespace {

constexpr OptionTable<Options> kOptions({
    {"first=2|4|8|16|...: initial number of buckets of the first level, a power of two; the last level has half of "
     "them",
     Log2<&Options::first_log2>(2, 1 << 28)},
    {"slots=8|4|16: slots of a bucket", Number<&Options::slots>()},
    {"auto_expand=on|off: an insert that finds no place adds a level and tries again (off: FULL)",
     Switch<&Options::auto_expand>()},
    {"auto_rehash=1|0|2|8|...: buckets that the rehashing thread is given time for after each operation",
     Number<&Options::auto_rehash>(0, 1 << 20)},
    {EnumLine<Interleave, "interleave",
              "a step of another thread that falls into an operation, at the place that the paper's context checks are "
              "for">(),
     Named<&Options::interleave>()},
    {"version_bits=16|8|4: bits of the context's version, which must not come round between two looks of a thread. "
     "Where a loop publishes for ever, few of them let its state come back soon, so that it is found to be endless",
     Number<&Options::version_bits>()},
    {"concurrency=single|concurrent: how many threads call; with concurrent, rehashing threads work beside them",
     Flag<&Options::concurrent, "concurrent">()},
    {"rehash_threads=1|0|2|3|4: rehashing threads of concurrency=concurrent; thread t has the buckets t, t + "
     "rehash_threads, ...",
     Number<&Options::rehash_threads>(0, kMostRehashers)},
    {"reclaim=8|1|2|...: blocks that a thread of concurrency=concurrent holds back before it looks whether others can "
     "still be reading them",
     Number<&Options::reclaim>(1, kRetired / 2)},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "clevel", kOptions, out, kSizes);
  if (status != POWERCUT_OK) return status;
  if (out->concurrent && out->interleave != Interleave::kNone) {
    return BadConfig(config, "clevel takes interleave with concurrency=single only: threads interleave by themselves");
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  out->copy_bound = 2;
  out->copy_citation =
      "Clevel hashing (ATC'20), 3.3: \"A crash during the data movement of rehashing may lead to duplicate items, "
      "which are fixed in future update (3.2.3) and deletion (3.2.4)\"";
  out->thread_safe = options.concurrent ? 1 : 0;
  if (!options.concurrent) {
    out->notes = "one thread; steps of other threads happen between operations or, with the option interleave, inside";
  } else if (options.hardened) {
    out->notes = "lock-free; an insertion is unique, and what a search answers is durable";
  } else {
    out->notes =
        "lock-free; as in the paper two insertions of one key may both succeed (3.2.2: \"each one of the duplicate "
        "items is correct\")";
    out->read_uncommitted = 1;
    out->read_citation =
        "Clevel hashing (ATC'20), 4.5: \"clevel hashing has dirty reads, since there is no lock to isolate data. "
        "Hence, the isolation level is read uncommitted\"";
  }
  // A fresh file is zeroes already. Without that, format would write every slot, buffer and entry a second time.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET(
    "clevel", kOptions.lines,
    "Clevel hashing: a list of levels that share items by pointer; lock-free, rehashed in the background",
    "Chen, Hua, Ding, Zuo: Lock-free Concurrent Level Hashing for Persistent Memory, USENIX ATC 2020", "expand",
    "rehash")

constexpr powercut_background kBackground = {
    .threads = [](powercut_table* table) { return reinterpret_cast<Table*>(table)->workers(); },
    .work = [](powercut_table* table, uint32_t number) { return reinterpret_cast<Table*>(table)->Work(number); },
};

extern "C" const powercut_background* powercut_target_background() { return &kBackground; }

}  // namespace powercut::clevel
