#include "tracer/world/thread_locals.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "tracer/runtime/hooks.h"

namespace {

// The argument of __tls_get_addr, by the ABI.
struct TlsIndex {
  unsigned long module, offset;
};

}  // namespace

extern "C" void* __tls_get_addr(TlsIndex* index);

namespace powercut {
namespace {

constexpr std::array kCppRuntime = {"libstdc++.", "libc++.", "libc++abi.", "libgcc_s."};

bool of_cpp_runtime(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(kCppRuntime, [&](const char* start) { return file.starts_with(start); });
}

bool is_instrumented(const dl_phdr_info& module) {
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const auto* code = reinterpret_cast<const void*>(module.dlpi_addr + segment.p_vaddr);
    if (powercut_code(code) == POWERCUT_INSTRUMENTED) return true;
  }
  return false;
}

MemoryRange range_at(uint64_t begin, uint64_t size) { return {begin, begin + size}; }

// A module and its segment of initial values. Looked up in two steps: the loader holds its lock while it lists them.
struct Found {
  size_t module;
  MemoryRange initial;
  uint64_t size;
};

int find(dl_phdr_info* module, size_t, void* out) {
  if (module->dlpi_tls_modid == 0) return 0;
  if (!is_instrumented(*module) && !of_cpp_runtime(module->dlpi_name)) return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_TLS || segment.p_memsz == 0) continue;
    static_cast<std::vector<Found>*>(out)->push_back(
        {module->dlpi_tls_modid, range_at(module->dlpi_addr + segment.p_vaddr, segment.p_filesz), segment.p_memsz});
  }
  return 0;
}

}  // namespace

std::vector<ThreadLocals> thread_locals() {
  std::vector<Found> found;
  dl_iterate_phdr(find, &found);
  std::vector<ThreadLocals> out;
  for (const Found& module : found) {
    TlsIndex index{module.module, 0};
    out.push_back({range_at(reinterpret_cast<uint64_t>(__tls_get_addr(&index)), module.size), module.initial});
  }
  out.push_back({range_at(reinterpret_cast<uint64_t>(&errno), sizeof errno), {}});
  return out;
}

}  // namespace powercut
