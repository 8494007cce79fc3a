#include "tracer/runtime/recording/uninstrumented.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "tracer/runtime/hooks.h"

namespace powercut::runtime {
namespace {

constexpr const char* kRuntime = "libpowercut_rt.so";
// Parts of the C and C++ runtime, whose effects on memory the pass replaces or announces, and libraries that this one
// needs.
constexpr std::array kSystem = {"libc.",        "libm.",      "libpthread.", "libdl.",     "librt.",      "ld-linux",
                                "libgcc_s.",    "libstdc++.", "libc++",      "linux-vdso", "libpowercut", "libasan.",
                                "libclang_rt.", "libunwind.", "libabsl_",    "libxxhash.", "libzstd."};
constexpr size_t kMostNamed = 4;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool of_system(std::string_view file) {
  return std::ranges::any_of(kSystem, [&](const char* start) { return file.starts_with(start); });
}

// Returns whether the name is a function of the system's libraries.
bool of_system_function(const char* name) {
  Dl_info info{};
  void* const address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr && dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         of_system(file_name(info.dli_fname));
}

// Returns whether the module names this library among the libraries that it needs, as `powercut cc` links it.
bool instrumented(const link_map& module) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  if (strings == nullptr) return false;
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::string_view(strings + entry->d_un.d_val).starts_with(kRuntime)) return true;
  }
  return false;
}

void add(std::string* list, std::string_view name, size_t* count) {
  if (++*count > kMostNamed) return;
  if (!list->empty()) *list += ", ";
  *list += name;
}

}  // namespace

std::string uninstrumented_code() {
  std::string modules, functions;
  size_t module_count = 0, function_count = 0;
  void* handle = dlopen(nullptr, RTLD_LAZY);
  link_map* module = nullptr;
  if (handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &module) == 0) {
    for (; module != nullptr; module = module->l_next) {
      const std::string_view name = file_name(module->l_name);
      // The program itself has no name here.
      if (name.empty() || of_system(name) || instrumented(*module)) continue;
      add(&modules, name, &module_count);
    }
  }
  if (handle != nullptr) dlclose(handle);
  std::array<const char*, 64> names{};
  const uint32_t found = powercut_externals(names.data(), names.size());
  for (size_t i = 0; i < std::min<size_t>(found, names.size()); ++i) {
    if (!of_system_function(names[i])) add(&functions, names[i], &function_count);
  }
  std::string out;
  if (!modules.empty()) out = "not built with 'powercut cc': " + modules;
  if (!functions.empty()) out += (out.empty() ? "" : "; ") + ("called by code that was built with it: " + functions);
  return out;
}

}  // namespace powercut::runtime
