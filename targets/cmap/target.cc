// cmap behind the target ABI.
#include "targets/cmap/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cmap {
namespace {

constexpr OptionTable<Options> kOptions({
    {"first_block=2|3|4|8|...: segments 1 to first_block - 1 share one block (8 in libpmemobj-cpp)",
     Number<&Options::first_block>(2, 8)},
    {"update=assign|replace: overwrite the value in place where it has room, under the log where several words change, "
     "or always put a new node in the place of the old one",
     Flag<&Options::replace, "replace">()},
    {"size=recount|logged: count the items at open, or keep their number in the transaction of each insert and erase",
     Flag<&Options::logged_size, "logged">()},
    {"concurrency=single|concurrent: one thread at a time, or reader/writer locks of buckets and nodes, in the pool",
     Flag<&Options::concurrent, "concurrent">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "cmap", kOptions, out, kSizes);
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  out->thread_safe = options.concurrent ? 1 : 0;
  out->notes = options.concurrent
                   ? "reader/writer locks of buckets and nodes, in the pool; a lock each of growth, undo log, allocator"
                   : "one thread; lookup does not rehash";
  // A fresh file is zeroes already. Without that, format would write the table of segments and the log.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET(
    "cmap", kOptions.lines, "cmap: chained nodes, buckets doubled by segments, each rehashed when it is first changed",
    "concurrent_hash_map of libpmemobj-cpp, engine cmap of pmemkv; a baseline of Chen et al.: clevel, ATC 2020", "grow",
    "rehash")

}  // namespace powercut::cmap
