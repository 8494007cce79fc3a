// Path hashing behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/path/table.h"

namespace powercut::path {
namespace {

constexpr OptionTable<Options> kOptions({
    {"leaves=8|2|4|32|...: initial number of cells that are addressed by hashing, a power of two",
     Log2<&Options::leaves_log2>(2, 1 << 30)},
    {"levels=3|1|2|5|31|...: levels of the inverted tree that are reserved (path shortening), at most all of them",
     Number<&Options::levels>(1, 31)},
    {"paths=apart|anywhere: each hash function addresses its half of the leaves, or both address all of them",
     Flag<&Options::apart, "apart">()},
    {"packing=levels|subtrees: cells lie level by level, or two siblings and the cell above them together",
     Flag<&Options::packed, "subtrees">()},
    {"update=logged|atomic: the undo log, or one 8-byte store (values of 8 bytes only)", Named<&Options::update>()},
    {"resize=copy|rehash: a whole tree is built and then named, or items move one by one into a tree that is named",
     Named<&Options::resize>()},
    {"auto_expand=on|off: an insert that finds no place doubles the tree and tries again (off: FULL)",
     Switch<&Options::auto_expand>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "path", kOptions, out);
  return status == POWERCUT_OK ? CheckSizes(config, "path", out->update) : status;
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  // Format writes no cell, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET("path", kOptions.lines,
                       "Path hashing: an inverted tree of cells with shared positions, two paths a key",
                       "Zuo and Hua, MSST 2017; consistency as in Zuo, Hua and Wu, OSDI 2018, 3.3", "expand", "shrink")

}  // namespace powercut::path
