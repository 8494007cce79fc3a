#include "targets/common/options.h"

#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, kScheme.name, *kScheme.options, out);
  if (status != POWERCUT_OK) return status;
  out->wide = config.key_size == 16 && config.value_size >= 1 && config.value_size <= 15;
  if (!out->wide && (config.key_size != 8 || config.value_size != 8)) {
    return BadConfig(config, "%s takes 8 and 8 bytes of key and value, or 16 and 1 to 15, not %u and %u", kScheme.name,
                     config.key_size, config.value_size);
  }
  out->kick_out = (kScheme.kicks_out && !out->hardened) || out->bug == Bug::kKickOut;
  out->treats_duplicates = (out->hardened || !kScheme.made_for_dram) && out->bug != Bug::kUpdateFirstCopy;
  out->bare_update = kScheme.made_for_dram && !out->hardened;
  out->tags = kScheme.tags;
  out->search = kScheme.search;
  return POWERCUT_OK;
}

}  // namespace powercut::cuckoo
