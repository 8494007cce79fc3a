// The log behind the target ABI: README.md.
#include "targets/common/options.h"
#include "targets/common/scheme_target.h"
#include "targets/nor_log/table.h"

namespace powercut::nor_log {
namespace {

constexpr OptionTable<Options> kOptions({
    {"unit=4|1|2|8|16|32: bytes of a program unit", Number<&Options::unit>()},
    {"sector=256|512|4096|...: bytes of a sector", Number<&Options::sector>(64, 1 << 16)},
    {"sectors=3|2|4|8|...: sectors, one of which is spare", Number<&Options::sectors>(2, 1 << 12)},
    {EnumLine<Torn, "torn", "what a power cut leaves of a unit">(), Named<&Options::torn>()},
    {EnumLine<Again, "again", "programs of a unit between two erases">(), Named<&Options::again>()},
    {"erase=prefix|mix: what a power cut leaves of a sector's erase", Flag<&Options::mix, "mix">()},
    {"ecc=off|on: a torn unit reads as an error", Switch<&Options::ecc>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "nor_log", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != kKey) return BadConfig(config, "nor_log: keys have 8 bytes, not %u", config.key_size);
  if (config.value_size > kMostValue) {
    return BadConfig(config, "nor_log: a value has %u bytes at most, not %u", kMostValue, config.value_size);
  }
  const auto up = [out](uint32_t bytes) { return (bytes + out->unit - 1) / out->unit * out->unit; };
  const uint32_t least = up(kSectorHeader) + up(kUse) + up(sizeof(Header) + config.value_size) + 2 * up(1);
  if (out->sector % out->unit != 0 || out->sector < least) {
    return BadConfig(config, "nor_log: a sector is of whole units and has room for a record: %u bytes at least", least);
  }
  return POWERCUT_OK;
}

POWERCUT_SCHEME_TARGET("nor_log", kOptions.lines, "A log of records in the sectors of NOR flash", "none")

}  // namespace powercut::nor_log

extern "C" {

const powercut_sizes* powercut_target_sizes() {
  static const powercut_sizes sizes[] = {{8, 8}, {0, 0}};
  return sizes;
}

powercut_status powercut_target_device(const powercut_config* config, powercut_device* out) {
  powercut::nor_log::Options options;
  const powercut_status status = powercut::nor_log::Table::ParseOptions(*config, &options);
  if (status != POWERCUT_OK) return status;
  const powercut_nor_part part = options.part();
  *out = powercut_nor_device(&part);
  return POWERCUT_OK;
}

}  // extern "C"
