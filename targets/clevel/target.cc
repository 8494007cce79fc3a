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
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "clevel", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > 64) {
    return BadConfig(config, "clevel takes keys of 1 to 64 bytes, not %u", config.key_size);
  }
  if (config.value_size == 0 || config.value_size > 1024) {
    return BadConfig(config, "clevel takes values of 1 to 1024 bytes, not %u", config.value_size);
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->copy_bound = 2;
  out->copy_citation =
      "Clevel hashing (ATC'20), 3.3: \"A crash during the data movement of rehashing may lead to duplicate items, "
      "which "
      "are fixed in future update (3.2.3) and deletion (3.2.4)\"";
  out->notes = "one thread; steps of other threads happen between operations or, with the option interleave, inside";
  // A fresh file is zeroes already. Without that, format would write every slot, buffer and entry a second time.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::clevel

namespace {

constexpr const char* kCommands[] = {"expand", "rehash", nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::clevel::Table>::Entry({
    .name = "clevel",
    .summary = "Clevel hashing: a list of levels that share items by pointer; lock-free, rehashed in the background",
    .paper = "Chen, Hua, Ding, Zuo: Lock-free Concurrent Level Hashing for Persistent Memory, USENIX ATC 2020",
    .options = powercut::clevel::kOptions.lines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
