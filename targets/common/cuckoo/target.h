// A scheme of the family behind the target ABI.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_

#include "targets/common/cuckoo/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cuckoo {

inline constexpr const char* kCommands[] = {"expand", "shrink", nullptr};

constexpr powercut_target Target(const char* name, const char* summary, const char* paper,
                                 const char* const* option_lines) {
  return SchemeTarget<Table>::Entry(
      {.name = name, .summary = summary, .paper = paper, .options = option_lines, .commands = kCommands});
}

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_
