// Walks the chain of saved frame pointers. Instrumented code keeps frame pointers; code below it may not,
// so a frame is believed only if it lies in the thread's stack, aligned, and above the frame before it.
#include <pthread.h>

#include <cstdlib>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/stack_bounds.h"

namespace powercut::runtime {
namespace {

// Zero-initialised thread-locals need no guard and no allocation on first use.
constinit thread_local StackBounds bounds;

StackBounds look_up() {
  pthread_attr_t attributes;
  // Unknown bounds become an empty range at the top of memory, so that they are not looked up again at every hook.
  StackBounds found{UINT64_MAX, UINT64_MAX};
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return found;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    found = {reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(low) + size};
  }
  pthread_attr_destroy(&attributes);
  return found;
}

// Calls `visit(return address)` for each caller of the function whose frame is `frame`, innermost first, until `visit`
// returns false.
template <typename Visit>
inline void walk(const void* frame, Visit visit) {
  const StackBounds& stack = stack_bounds();
  uint64_t at = reinterpret_cast<uint64_t>(frame);
  uint64_t low = stack.low;
  while (at >= low && at < stack.high && stack.high - at >= 16 && at % 8 == 0) {
    const uint64_t* words = reinterpret_cast<const uint64_t*>(at);
    if (words[1] == 0) break;  // the outermost frame
    if (!visit(words[1])) break;
    low = at + 16;  // callers lie above
    at = words[0];
  }
}

}  // namespace

const StackBounds& stack_bounds() {
  if (bounds.high == 0) [[unlikely]]
    bounds = look_up();
  return bounds;
}

}  // namespace powercut::runtime

extern "C" void powercut_stack_range(const void* low, const void* high) {
  using powercut::runtime::bounds;
  bounds = high != nullptr
               ? powercut::runtime::StackBounds{reinterpret_cast<uint64_t>(low), reinterpret_cast<uint64_t>(high)}
               : powercut::runtime::look_up();
}

extern "C" uint32_t powercut_stack(const void* pc, const void* frame, uint64_t* out, uint32_t max) {
  if (max == 0) return 0;
  out[0] = reinterpret_cast<uint64_t>(pc);
  uint32_t count = 1;
  powercut::runtime::walk(frame, [&](uint64_t address) {
    if (count == max) return false;
    out[count++] = address;
    return true;
  });
  return count;
}

extern "C" int powercut_stack_is(const void* pc, const void* frame, const uint64_t* known, uint32_t count,
                                 uint32_t max) {
  if (count == 0 || count > max || known[0] != reinterpret_cast<uint64_t>(pc)) return 0;
  uint32_t same = 1;
  bool other = false;
  powercut::runtime::walk(frame, [&](uint64_t address) {
    if (same == max) return false;
    other = same == count || known[same] != address;
    ++same;
    return !other;
  });
  return !other && same == count;
}
