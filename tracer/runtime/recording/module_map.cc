#include "tracer/runtime/recording/module_map.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "tracer/format/build_id.h"

namespace powercut {
namespace {

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

// Returns the absolute path without links, so that a library has one name in every trace.
std::string canonical_path(const char* name) {
  if (name == nullptr || *name == '\0') return executable_path();
  char* resolved = realpath(name, nullptr);
  if (resolved == nullptr) return name;  // the kernel's vdso is no file
  std::string path = resolved;
  free(resolved);
  return path;
}

}  // namespace

void ModuleMap::refresh() {
  modules_.clear();
  ranges_.clear();
  const auto visit = [](dl_phdr_info* info, size_t, void* self) {
    ModuleMap& map = *static_cast<ModuleMap*>(self);
    TraceModule module{canonical_path(info->dlpi_name), {}};
    const size_t index = map.modules_.size();
    for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
      const uint64_t begin = info->dlpi_addr + header.p_vaddr;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
        map.ranges_.push_back({begin, begin + header.p_memsz, info->dlpi_addr, index});
      } else if (header.p_type == PT_NOTE && module.build_id.empty()) {
        module.build_id = build_id_in_notes({reinterpret_cast<const uint8_t*>(begin), header.p_memsz});
      }
    }
    map.modules_.push_back(std::move(module));
    return 0;
  };
  dl_iterate_phdr(visit, this);
  std::ranges::sort(ranges_, {}, &Range::begin);
}

const ModuleMap::Range* ModuleMap::lookup(uint64_t address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

std::optional<ModuleMap::Place> ModuleMap::find(uint64_t address) {
  const Range* range = lookup(address);
  if (range == nullptr) {
    // The address may be of a library that was loaded since.
    refresh();
    range = lookup(address);
  }
  if (range == nullptr) return std::nullopt;
  return Place{&modules_[range->module], address - range->bias};
}

}  // namespace powercut
