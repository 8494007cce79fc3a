// The functions that the instrumented modules of this process call and define.
#include <link.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/lane_hooks.h"

namespace {

struct Registry {
  std::mutex mutex;
  std::set<std::string> called;  // only ever grows: powercut_externals hands out its strings
  std::set<std::string> defined;
};

// Constructors of other libraries may register before this library's own ran, and the engine may ask while the process
// ends: the registry is made on first use and never destroyed. A target's registration may put the registry among the
// target's data, which the engine compares: asking changes nothing.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}

// Code segments of the libraries that registered, and of this library. Signal handlers read the table, so it is plain
// memory.
struct CodeRange {
  uint64_t begin = 0, end = 0;
  powercut_code_kind kind = POWERCUT_FOREIGN;
};
constinit std::array<CodeRange, 256> code_ranges;
constinit std::atomic<uint32_t> code_range_count;
constinit std::atomic<uint32_t> module_count;

powercut_code_kind code_at(uint64_t pc) {
  const uint32_t count = code_range_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (pc - code_ranges[i].begin < code_ranges[i].end - code_ranges[i].begin) return code_ranges[i].kind;
  }
  return POWERCUT_FOREIGN;
}

// A function that lies in this library, whatever else is loaded.
void no_code() {}

// Adds the segment that holds `pc`.
void note_code(const void* address, powercut_code_kind kind) {
  const uint64_t pc = reinterpret_cast<uint64_t>(address);
  if (code_at(pc) != POWERCUT_FOREIGN) return;
  struct Wanted {
    uint64_t pc;
    powercut_code_kind kind;
  } wanted{pc, kind};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* raw) {
        const Wanted& wanted = *static_cast<Wanted*>(raw);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          const uint64_t begin = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted.pc - begin >= segment.p_memsz) continue;
          const uint32_t next = code_range_count.load(std::memory_order_relaxed);
          if (next == code_ranges.size()) return 1;
          code_ranges[next] = {begin, begin + segment.p_memsz, wanted.kind};
          code_range_count.store(next + 1, std::memory_order_release);
          return 1;
        }
        return 0;
      },
      &wanted);
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
  note_code(__builtin_return_address(0), POWERCUT_INSTRUMENTED);
  note_code(reinterpret_cast<const void*>(&no_code), POWERCUT_RUNTIME);
  ++module_count;
}

void __powercut_defines(const char* const* names, uint32_t count) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (uint32_t i = 0; i < count; ++i) all.defined.emplace(names[i]);
}

int powercut_code(const void* pc) { return code_at(reinterpret_cast<uint64_t>(pc)); }

uint32_t powercut_modules(void) { return module_count; }

uint32_t powercut_externals(const char** out, uint32_t max) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  uint32_t count = 0;
  for (const std::string& name : all.called) {
    if (all.defined.contains(name)) continue;
    if (count < max) out[count] = name.c_str();
    ++count;
  }
  return count;
}

}  // extern "C"
