// Room hooks: functions that instrumented code calls, and how an access reaches the one listener.
//
// This file: where a hook was called from, and the listener that hears of the access. Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_CALL_SITE_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_CALL_SITE_H_

#include <cstddef>
#include <cstdint>

#include "tracer/runtime/hooks.h"

// Hands the machine's state to the listener (powercut_sink.branch). Returns the address at which the bytes of `addr`
// lie.
extern "C" void* powercut_branch(const void* addr, uint64_t size);

namespace powercut::runtime {

// Invariant: every member is callable; a function that the listener left null does nothing.
extern powercut_sink active_sink;

struct CallSite {
  const void* pc;     // return address into instrumented code
  const void* frame;  // frame pointer of the instrumented function
};

// Call this function only in the body of a hook itself: inlined there, the builtins speak of the hook. The runtime is
// compiled with frame pointers, so the word at the hook's frame address is the frame pointer of its caller.
__attribute__((always_inline)) inline CallSite call_site() {
  return {__builtin_return_address(0), *static_cast<void* const*>(__builtin_frame_address(0))};
}

// True if [addr, addr + size) and the window share a byte.
inline bool overlaps(const powercut_window& window, uint64_t addr, uint64_t size) {
  if (window.span == 0 || size == 0) return false;
  return addr - window.base < window.span || window.base - addr < size;
}

// Returns the address at which the bytes of `addr` are kept.
template <typename T>
inline T* place_of(T* addr) {
  const uint64_t at = reinterpret_cast<uint64_t>(addr);
  const powercut_alias& alias = __powercut_alias;
  return at - alias.base < alias.span ? reinterpret_cast<T*>(at + alias.delta) : addr;
}

// Returns whether the listener asks for the machine's state at this load (powercut_sink.branch).
inline bool wants_branch(uint64_t addr, uint64_t size) {
  return active_sink.branches != nullptr && active_sink.branches(active_sink.self, addr, size) != 0;
}
// Announces a load; returns the address at which the load is to be made.
template <typename T>
inline T* announce_load(T* addr, uint64_t size) {
  const uint64_t at = reinterpret_cast<uint64_t>(addr);
  if (overlaps(__powercut_load_window, at, size)) {
    if (wants_branch(at, size)) powercut_branch(addr, size);
    active_sink.load(active_sink.self, at, size);
  }
  return place_of(addr);
}

// Announces a store; returns the address at which the store is to be made. The listener reads `value`, so its bytes
// must be readable at that address.
template <typename T>
inline T* announce_store(T* addr, uint64_t size, uint32_t flags, const void* value, const CallSite& site) {
  const uint64_t at = reinterpret_cast<uint64_t>(addr);
  if (overlaps(__powercut_store_window, at, size)) {
    active_sink.store(active_sink.self, at, size, flags, value, site.pc, site.frame);
  }
  return place_of(addr);
}

// The flags of the pieces of one store, which are announced one after the other: every piece but the first continues
// the store.
class Pieces {
 public:
  explicit Pieces(uint32_t flags) : flags_(flags) {}
  uint32_t flags_of(const void* addr, uint64_t size) {
    const uint32_t flags = flags_;
    if (overlaps(__powercut_store_window, reinterpret_cast<uint64_t>(addr), size)) flags_ |= POWERCUT_STORE_CONTINUES;
    return flags;
  }

 private:
  uint32_t flags_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_CALL_SITE_H_
