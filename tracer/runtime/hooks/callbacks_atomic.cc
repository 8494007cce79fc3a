// Atomics under -fsanitize=thread: each is a call that does the work of the instruction in its place. On x86 every
// read-modify-write is a locked instruction, whatever its order, and so is a sequentially consistent store.
#include <cstdint>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/pending_store.h"

using powercut::runtime::active_sink;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::overlaps;
using powercut::runtime::place_of;
using powercut::runtime::settle;

namespace {

__extension__ using Wide = unsigned __int128;
constexpr int kSequential = __ATOMIC_SEQ_CST;

// An operation on 16 bytes has one instruction (CMakeLists.txt).
template <typename T>
bool exchange_if(T* place, T* expected, T desired) {
  if constexpr (sizeof(T) == 16) {
    const T found = __sync_val_compare_and_swap(place, *expected, desired);
    const bool same = found == *expected;
    *expected = found;
    return same;
  } else {
    return __atomic_compare_exchange_n(place, expected, desired, false, kSequential, kSequential);
  }
}

template <typename T>
T load(T* address) {
  if constexpr (sizeof(T) == 16) {
    T found = 0;
    exchange_if(address, &found, T{0});  // the exchange stores the bytes that are there
    return found;
  } else {
    return __atomic_load_n(address, kSequential);
  }
}

// `operation(place)` returns whether it stored.
template <typename T, typename Operation>
void locked(T* address, const CallSite& site, Operation operation) {
  settle();
  const auto at = reinterpret_cast<uint64_t>(address);
  if (!overlaps(__powercut_store_window, at, sizeof(T))) {
    active_sink.fence(active_sink.self, POWERCUT_RMW_FENCE, site.pc, site.frame);
    operation(address);
    return;
  }
  active_sink.rmw_begin(active_sink.self, at, sizeof(T), site.pc, site.frame);
  const bool stored = operation(place_of(address));
  active_sink.rmw_end(active_sink.self, at, sizeof(T), stored ? 1 : 0, site.pc, site.frame);
}

template <typename T, typename Change>
T modify(T* address, const CallSite& site, Change change) {
  T old = 0;
  locked(address, site, [&](T* place) {
    old = load(place);
    while (!exchange_if(place, &old, static_cast<T>(change(old)))) {
    }
    return true;
  });
  return old;
}

template <typename T>
void store(T* address, T value, int order, const CallSite& site) {
  if (order == kSequential || sizeof(T) == 16) {
    modify(address, site, [&](T) { return value; });
    return;
  }
  settle();
  T* const place = announce_store(address, sizeof(T), POWERCUT_STORE_ATOMIC, &value, site);
  if constexpr (sizeof(T) != 16) __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

template <typename T>
bool compare_exchange(T* address, T* expected, T desired, const CallSite& site) {
  bool same = false;
  locked(address, site, [&](T* place) { return same = exchange_if(place, expected, desired); });
  return same;
}

}  // namespace

#define POWERCUT_FETCH(T, bits, name, change)                           \
  T __tsan_atomic##bits##_fetch_##name(T* address, T value, int) {      \
    return modify(address, call_site(), [&](T old) { return change; }); \
  }
#define POWERCUT_ATOMIC(T, bits)                                                                                  \
  T __tsan_atomic##bits##_load(T* address, int) { return load(place_of(address)); }                               \
  void __tsan_atomic##bits##_store(T* address, T value, int order) { store(address, value, order, call_site()); } \
  T __tsan_atomic##bits##_exchange(T* address, T value, int) {                                                    \
    return modify(address, call_site(), [&](T) { return value; });                                                \
  }                                                                                                               \
  POWERCUT_FETCH(T, bits, add, old + value)                                                                       \
  POWERCUT_FETCH(T, bits, sub, old - value)                                                                       \
  POWERCUT_FETCH(T, bits, and, old& value)                                                                        \
  POWERCUT_FETCH(T, bits, or, old | value)                                                                        \
  POWERCUT_FETCH(T, bits, xor, old ^ value)                                                                       \
  POWERCUT_FETCH(T, bits, nand, ~(old & value))                                                                   \
  int __tsan_atomic##bits##_compare_exchange_strong(T* address, T* expected, T desired, int, int) {               \
    return compare_exchange(address, expected, desired, call_site()) ? 1 : 0;                                     \
  }                                                                                                               \
  int __tsan_atomic##bits##_compare_exchange_weak(T* address, T* expected, T desired, int, int) {                 \
    return compare_exchange(address, expected, desired, call_site()) ? 1 : 0;                                     \
  }                                                                                                               \
  T __tsan_atomic##bits##_compare_exchange_val(T* address, T expected, T desired, int, int) {                     \
    compare_exchange(address, &expected, desired, call_site());                                                   \
    return expected;                                                                                              \
  }

extern "C" {

POWERCUT_ATOMIC(uint8_t, 8)
POWERCUT_ATOMIC(uint16_t, 16)
POWERCUT_ATOMIC(uint32_t, 32)
POWERCUT_ATOMIC(uint64_t, 64)
POWERCUT_ATOMIC(Wide, 128)

// Only a sequentially consistent fence is an instruction.
void __tsan_atomic_thread_fence(int order) {
  const CallSite site = call_site();
  settle();
  if (order == kSequential) active_sink.fence(active_sink.self, POWERCUT_MFENCE, site.pc, site.frame);
  __atomic_thread_fence(kSequential);
}

void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(kSequential); }

}  // extern "C"
