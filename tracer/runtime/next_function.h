// The C library's function behind one of this library that stands in front of it.
#ifndef POWERCUT_TRACER_RUNTIME_NEXT_FUNCTION_H_
#define POWERCUT_TRACER_RUNTIME_NEXT_FUNCTION_H_

#include <dlfcn.h>

namespace powercut::runtime {

// Looked up once. `cache` is constant-initialised: others' constructors may be first.
template <typename Function>
Function* next_function(Function*& cache, const char* name) {
  if (cache == nullptr) cache = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return cache;
}

}  // namespace powercut::runtime

#define NEXT(name)                                         \
  ([]() -> decltype(&::name) {                             \
    static constinit decltype(&::name) cache;              \
    return powercut::runtime::next_function(cache, #name); \
  }())

#endif  // POWERCUT_TRACER_RUNTIME_NEXT_FUNCTION_H_
