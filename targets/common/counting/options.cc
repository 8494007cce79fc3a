// The configuration of a run, and its traits for the target ABI.
#include "targets/common/options.h"

#include "targets/common/counting/table.h"

namespace powercut::counting {

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, kMember.name, *kMember.options, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "%s counts keys of 8 bytes, and a count has 8 bytes; not %u and %u", kMember.name,
                     config.key_size, config.value_size);
  }
  if (out->page % (8 * out->sectors) != 0 || out->page / out->sectors < 512) {
    return BadConfig(config,
                     "%s: a page of %u bytes cannot have %u sectors, each of 512 bytes or more and of whole words",
                     kMember.name, out->page, out->sectors);
  }
  if (out->ftl != Layer::kNone && out->sectors != 1) {
    return BadConfig(config, "%s: an SSD writes a page as a whole: with ftl=page or block give sectors=1, not %u",
                     kMember.name, out->sectors);
  }
  if (out->entries > Page::Room(out->page)) {
    return BadConfig(config, "%s: a page of %u bytes has room for %u entries, not for %u", kMember.name, out->page,
                     Page::Room(out->page), out->entries);
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  const Geometry geometry(options);
  out->counts = 1;
  out->buffered = kMember.scheme == Scheme::kUnbuffered ? 0 : 2;
  out->copy_bound = 2 + geometry.log_pages;
  out->copies_may_differ = 1;
  out->needs_zeroed_pool = options.ftl != Layer::kNone;
  out->copy_citation =
      "2.7: the frequency of a queried item is the total frequency found in the change segment, RAM buffer, and data "
      "segment";
}

}  // namespace powercut::counting

extern "C" {

const powercut_sizes* powercut_target_sizes() {
  static const powercut_sizes sizes[] = {{8, 8}, {0, 0}};
  return sizes;
}

powercut_status powercut_target_device(const powercut_config* config, powercut_device* out) {
  powercut::counting::Options options;
  const powercut_status status = powercut::counting::Table::ParseOptions(*config, &options);
  if (status == POWERCUT_OK) *out = powercut::counting::Device::Describe(options);
  return status;
}

}  // extern "C"
