#include "checker/native/process_modules.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>

#include "tracer/format/build_id.h"

namespace powercut {
namespace {

std::string absolute(const char* name) {
  char resolved[PATH_MAX];
  const char* path = name[0] == '\0' ? "/proc/self/exe" : name;
  return realpath(path, resolved) == nullptr ? std::string(name) : std::string(resolved);
}

}  // namespace

std::vector<ProcessModule> process_modules() {
  std::vector<ProcessModule> out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* raw) {
        ProcessModule module;
        module.module.path = absolute(info->dlpi_name);
        module.bias = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          const MemoryRange range{info->dlpi_addr + header.p_vaddr, info->dlpi_addr + header.p_vaddr + header.p_memsz};
          if (header.p_type == PT_LOAD) module.segments.push_back(range);
          if (header.p_type == PT_LOAD && (header.p_flags & PF_W) != 0) module.writable.push_back(range);
          if (header.p_type == PT_NOTE && module.module.build_id.empty())
            module.module.build_id = build_id_in_notes({reinterpret_cast<const uint8_t*>(range.begin), header.p_memsz});
        }
        // Relocated data that was made read-only again can be read, but never written: a store there faults.
        static_cast<std::vector<ProcessModule>*>(raw)->push_back(std::move(module));
        return 0;
      },
      &out);
  return out;
}

const ProcessModule* module_at(const std::vector<ProcessModule>& modules, const std::string& path) {
  const auto at =
      std::find_if(modules.begin(), modules.end(), [&](const ProcessModule& m) { return m.module.path == path; });
  return at == modules.end() ? nullptr : &*at;
}

std::vector<Frame> FrameResolver::resolve(const std::vector<uint64_t>& stack) {
  std::vector<Frame> out;
  for (uint64_t address : stack) {
    const uint64_t call = address - 1;
    for (const ProcessModule& module : loaded_) {
      const bool inside = std::any_of(module.segments.begin(), module.segments.end(),
                                      [&](const MemoryRange& s) { return s.holds(call, 1); });
      if (!inside) continue;
      auto known = std::find_if(modules_.begin(), modules_.end(), [&](const TraceModule& m) {
        return m.path == module.module.path && m.build_id == module.module.build_id;
      });
      if (known == modules_.end()) known = modules_.insert(modules_.end(), module.module);
      out.push_back({static_cast<uint32_t>(known - modules_.begin()), call - module.bias});
      break;
    }
  }
  return out;
}

}  // namespace powercut
