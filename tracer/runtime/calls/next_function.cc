#include "tracer/runtime/calls/next_function.h"

// The linker's names for the section's bounds.
extern "C" [[gnu::visibility("hidden")]] powercut::runtime::NextFunction __start_powercut_next[],
    __stop_powercut_next[];

namespace {

[[gnu::constructor]] void look_up_all() {
  for (auto* entry = __start_powercut_next; entry != __stop_powercut_next; ++entry) {
    if (entry->found == nullptr) entry->found = dlsym(RTLD_NEXT, entry->name);
  }
}

}  // namespace
