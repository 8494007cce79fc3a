#include "replayer/executor/process_modules.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>

#include "tracer/format/build_id.h"
#include "tracer/world/arena.h"

namespace powercut {
namespace {

std::string absolute(const char* name) {
  char resolved[PATH_MAX];
  const char* path = name[0] == '\0' ? "/proc/self/exe" : name;
  return realpath(path, resolved) == nullptr ? std::string(name) : std::string(resolved);
}

// The dynamic linker's own type and function. The function returns the address of a variable in the calling thread's
// block of a module.
struct TlsIndex {
  size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex* index);

MemoryRange thread_local_data(size_t module, uint64_t size) {
  const LoadingTarget allocating;  // a block that does not exist yet becomes part of the load heap
  TlsIndex index{module, 0};
  const auto begin = reinterpret_cast<uint64_t>(__tls_get_addr(&index));
  return {begin, begin + size};
}

bool named(const ProcessModule& module, std::string_view name) {
  const std::string& path = module.module.path;
  return std::string_view(path).substr(path.rfind('/') + 1).starts_with(name);
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
          if (header.p_type == PT_TLS && info->dlpi_tls_modid != 0)
            module.thread_local_data = {info->dlpi_tls_modid, header.p_memsz};  // until the list is complete
        }
        // Relocated data that was made read-only again can be read, but never written: a store there faults.
        static_cast<std::vector<ProcessModule>*>(raw)->push_back(std::move(module));
        return 0;
      },
      &out);
  // Outside of the walk, which holds the dynamic linker's lock.
  for (ProcessModule& module : out) {
    MemoryRange& data = module.thread_local_data;
    if (data.begin != 0) data = thread_local_data(data.begin, data.end);
  }
  return out;
}

const ProcessModule* module_at(const std::vector<ProcessModule>& modules, const std::string& path) {
  const auto at =
      std::find_if(modules.begin(), modules.end(), [&](const ProcessModule& m) { return m.module.path == path; });
  return at == modules.end() ? nullptr : &*at;
}

std::vector<MemoryRange> target_globals(const std::vector<ProcessModule>& before,
                                        const std::vector<ProcessModule>& loaded, const ProcessModule& own,
                                        bool whole_pages) {
  const MemoryRange heap{load_heap.begin, load_heap.top};
  std::vector<MemoryRange> out;
  const auto add = [&](const ProcessModule& module) {
    out.insert(out.end(), module.writable.begin(), module.writable.end());
    const MemoryRange& data = module.thread_local_data;
    if (data.begin != 0 && !whole_pages && !heap.holds(data.begin, data.end - data.begin)) out.push_back(data);
  };
  for (const ProcessModule& module : loaded) {
    const bool came_with_it = module_at(before, module.module.path) == nullptr && !named(module, "libpowercut_rt");
    if (&module == &own || came_with_it) add(module);
    if (named(module, "libstdc++") && !whole_pages) add(module);
  }
  if (heap.begin != heap.end) out.push_back(heap);
  return out;
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
