// The one symbol that a scheme's library exports (targets/ABI.md).
#ifndef POWERCUT_TARGETS_COMMON_TARGET_ENTRY_H_
#define POWERCUT_TARGETS_COMMON_TARGET_ENTRY_H_

#include <cstdint>

#include "powercut/target.h"

#define POWERCUT_TARGET_ENTRY(target)                                     \
  extern "C" const powercut_target* powercut_target_entry(uint32_t abi) { \
    return abi == POWERCUT_TARGET_ABI ? &target : nullptr;                \
  }

#endif  // POWERCUT_TARGETS_COMMON_TARGET_ENTRY_H_
