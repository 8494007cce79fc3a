// What the instrumented modules of this process call and define.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/lane_hooks.h"

namespace {

struct Registry {
  std::mutex mutex;
  std::set<std::string> called;
  std::set<std::string> defined;
  // Strings handed out by powercut_externals. Only ever grows, so that earlier answers stay valid.
  std::set<std::string> answered;
};

// Constructors of other libraries may register before this library's own ran, and the engine may ask
// while the process ends: the registry is made on first use and never destroyed.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

}  // namespace

extern "C" {

void __powercut_module(uint32_t hooks_version, const char* source, const char* const* externals, uint32_t count) {
  if (hooks_version != POWERCUT_HOOKS_VERSION) {
    fprintf(stderr,
            "powercut: %s: compiled for version %u of the hooks, this runtime speaks %u. "
            "Compile it again with this powercut's 'powercut cc'.\n",
            source, hooks_version, POWERCUT_HOOKS_VERSION);
    abort();
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (uint32_t i = 0; i < count; ++i) all.called.emplace(externals[i]);
}

void __powercut_defines(const char* const* names, uint32_t count) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (uint32_t i = 0; i < count; ++i) all.defined.emplace(names[i]);
}

uint32_t powercut_externals(const char** out, uint32_t max) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  uint32_t count = 0;
  for (const std::string& name : all.called) {
    if (all.defined.contains(name)) continue;
    if (count < max) out[count] = all.answered.insert(name).first->c_str();
    ++count;
  }
  return count;
}

}  // extern "C"
