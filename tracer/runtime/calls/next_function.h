// The C library's functions behind the functions of this library that stand in front of them.
#ifndef POWERCUT_TRACER_RUNTIME_CALLS_NEXT_FUNCTION_H_
#define POWERCUT_TRACER_RUNTIME_CALLS_NEXT_FUNCTION_H_

#include <dlfcn.h>

namespace powercut::runtime {

// A function that NEXT() names. All entries stand side by side in a section of the library, whose constructor looks the
// functions up early: the first call may come from a target, on whose stack the dynamic linker would leave what
// registers held.
struct NextFunction {
  const char* name;
  void* found;
};

// Returns the C library's function. The function is looked up here if another library's constructor calls it before
// this library's constructor ran.
template <typename Function>
Function* next_function(NextFunction* entry) {
  if (entry->found == nullptr) entry->found = dlsym(RTLD_NEXT, entry->name);
  return reinterpret_cast<Function*>(entry->found);
}

}  // namespace powercut::runtime

#define NEXT(name)                                                                                                     \
  ([]() -> decltype(&::name) {                                                                                         \
    [[gnu::section("powercut_next"), gnu::used]] static constinit powercut::runtime::NextFunction entry = {#name, {}}; \
    return powercut::runtime::next_function<decltype(::name)>(&entry);                                                 \
  }())

#endif  // POWERCUT_TRACER_RUNTIME_CALLS_NEXT_FUNCTION_H_
