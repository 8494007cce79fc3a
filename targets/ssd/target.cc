// An SSD on raw NAND behind the target ABI: README.md.
#include "targets/common/options.h"
#include "targets/common/scheme_target.h"
#include "targets/ssd/table.h"

namespace powercut::ssd {
namespace {

constexpr OptionTable<Options> kOptions({
    {"ftl=page|block: the flash translation layer, page-mapped or block-mapped",
     Flag<&Options::block_mapped, "block">()},
    {"recovery=scan|checkpoint: what open reads, all spare areas or a checkpoint and what is newer; published scans",
     Flag<&Options::checkpoint, "checkpoint">()},
    {"page=64|128|512|4096|...: bytes of a page", Number<&Options::page>(64, 1 << 16)},
    {"pages=8|4|16|128|...: pages of a block", Number<&Options::pages>(4, 1 << 12)},
    {"blocks=8|6|32|...: blocks for data", Number<&Options::blocks>(4, 1 << 16)},
    {"logical=32|8|12|64|...: pages that the host may write", Number<&Options::logical>(1, 1 << 20)},
    {EnumLine<ftl::Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});
}  // namespace

ftl::Ssd::Options Table::DeviceOf(const Options& options) {
  return {.block_mapped = options.block_mapped,
          .pages_per_block = options.pages,
          .page_size = options.page,
          .settings = {.logical = options.logical,
                       .blocks = options.blocks,
                       .hardened = options.hardened,
                       .checkpoint = options.checkpoint && options.hardened,
                       .bug = options.bug,
                       .reads_counted = false}};
}

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "ssd", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != kKey) return BadConfig(config, "ssd: keys have 8 bytes, not %u", config.key_size);
  if (out->page % sizeof(uint64_t) != 0 || config.value_size > out->page - kKey) {
    return BadConfig(config, "ssd: a page of %u bytes has no room for a key and a value of %u, in whole words",
                     out->page, config.value_size);
  }
  if (config.value_size > SchemeTarget<Table>::kMostValue) {
    return BadConfig(config, "ssd: a value has %zu bytes at most, not %u", SchemeTarget<Table>::kMostValue,
                     config.value_size);
  }
  if (out->checkpoint && out->block_mapped) {
    return BadConfig(config, "ssd: recovery=checkpoint goes with ftl=page; the block-mapped layer scans");
  }
  if (!ftl::Ssd::Fits(DeviceOf(*out))) {
    return BadConfig(config,
                     "ssd: %u blocks of %u pages have no room for %u logical pages and three free blocks; give more "
                     "blocks, or fewer logical pages",
                     out->blocks, out->pages, out->logical);
  }
  return POWERCUT_OK;
}

POWERCUT_SCHEME_TARGET("ssd", kOptions.lines, "A solid state drive on raw NAND: two flash translation layers",
                       "Hash in a Flash: Hash Tables for Solid State Devices, 2.1")

}  // namespace powercut::ssd

extern "C" {

const powercut_sizes* powercut_target_sizes() {
  static const powercut_sizes sizes[] = {{8, 8}, {0, 0}};
  return sizes;
}

powercut_status powercut_target_device(const powercut_config* config, powercut_device* out) {
  powercut::ssd::Options options;
  const powercut_status status = powercut::ssd::Table::ParseOptions(*config, &options);
  if (status == POWERCUT_OK) *out = powercut::ftl::Ssd::DeviceOf(powercut::ssd::Table::DeviceOf(options));
  return status;
}

}  // extern "C"
