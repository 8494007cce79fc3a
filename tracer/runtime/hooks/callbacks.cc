// The callbacks that gcc and clang insert under -fsanitize=thread, as hooks (hooks.h): they record code whose compiler
// has no plugin. A callback comes before a plain access, without the access's value and without a say in its address. A
// store is therefore kept as pending (pending_store.h). Atomics are calls that replace the instruction
// (callbacks_atomic.cc). The header powercut/callbacks.h leads flushes, fences, non-temporal stores and the C library's
// memory functions here.
//
// Reads are not recorded: nothing in program mode needs them. A pool that the engine watches is left to its faults
// (hooks.h, powercut_alias).
//
// Known inaccuracies: stores for which compilers have no callback. Both compilers: inline assembly, masked and direct
// stores by intrinsics. gcc: results that a called function returns into memory. clang: stores of 32 or 64 bytes, x87
// numbers. The net (unseen_stores.h) notices the changes that such stores leave in a pool. Locks of pthread are not
// announced as fences.
#include <emmintrin.h>

#include <atomic>
#include <cstring>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/pending_store.h"

namespace powercut::runtime {
namespace {

constinit std::atomic<bool> initialised = false;

inline void will_store(const void* address, uint64_t size, const CallSite& site, uint32_t flags = 0) {
  const auto at = reinterpret_cast<uint64_t>(address);
  if (!overlaps(__powercut_store_window, at, size) || __powercut_alias.span != 0) return;
  settle();
  pending_store = {at, size, flags, site};
}

// Stores as the instruction does, in pieces that exist: the size is a multiple of four, as that of all non-temporal
// stores.
void store_around_cache(void* target, const void* value, uint64_t size) {
  char* to = static_cast<char*>(target);
  const char* from = static_cast<const char*>(value);
  for (; size >= 8; to += 8, from += 8, size -= 8) {
    long long word;
    memcpy(&word, from, 8);
    _mm_stream_si64(reinterpret_cast<long long*>(to), word);
  }
  for (; size >= 4; to += 4, from += 4, size -= 4) {
    int word;
    memcpy(&word, from, 4);
    _mm_stream_si32(reinterpret_cast<int*>(to), word);
  }
}

}  // namespace

constinit thread_local PendingStore pending_store;

void settle_pending_store() {
  const PendingStore store = pending_store;
  pending_store.size = 0;  // first, because the listener's own calls settle as well
  active_sink.store(active_sink.self, store.address, store.size, store.flags,
                    reinterpret_cast<const void*>(store.address), store.site.pc, store.site.frame);
}

bool has_callbacks() { return initialised; }

}  // namespace powercut::runtime

using powercut::runtime::active_sink;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::settle;
using powercut::runtime::will_store;

#define POWERCUT_READ(name) \
  void __tsan_##name(const void*) {}
#define POWERCUT_WRITE(name, size) \
  void __tsan_##name(void* address) { will_store(address, size, call_site()); }
#define POWERCUT_SIZE(size)                            \
  POWERCUT_READ(read##size)                            \
  POWERCUT_WRITE(write##size, size)                    \
  POWERCUT_READ(unaligned_read##size)                  \
  POWERCUT_WRITE(unaligned_write##size, size)          \
  POWERCUT_READ(volatile_read##size)                   \
  POWERCUT_WRITE(volatile_write##size, size)           \
  POWERCUT_READ(unaligned_volatile_read##size)         \
  POWERCUT_WRITE(unaligned_volatile_write##size, size) \
  POWERCUT_WRITE(read_write##size, size)               \
  POWERCUT_WRITE(unaligned_read_write##size, size)

extern "C" {

// Called from a constructor of every object file.
void __tsan_init() { powercut::runtime::initialised = true; }

POWERCUT_SIZE(1)
POWERCUT_SIZE(2)
POWERCUT_SIZE(4)
POWERCUT_SIZE(8)
POWERCUT_SIZE(16)

void __tsan_read_range(const void*, unsigned long) {}
// An unaligned or wide scalar or vector. A range of another size is a structure, whose copy becomes any sequence of
// moves.
void __tsan_write_range(void* address, unsigned long size) {
  const bool one = size <= 64 && (size & (size - 1)) == 0;
  will_store(address, size, call_site(), one ? 0 : POWERCUT_STORE_MEMCALL);
}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void** address, void*) { will_store(address, sizeof *address, call_site()); }

// A frame comes or goes: the stack of a pending store is still there.
void __tsan_func_entry(void*) { settle(); }
void __tsan_func_exit() { settle(); }

// The header powercut/callbacks.h turns the intrinsics into the following calls.
void __powercut_do_flush(const void* address, unsigned kind) {
  const powercut::runtime::CallSite site = call_site();
  settle();
  active_sink.flush(active_sink.self, reinterpret_cast<uint64_t>(address), kind, site.pc, site.frame);
  if (__powercut_real_flush == 0) return;
  const char* const line = static_cast<const char*>(address);
  if (kind == POWERCUT_CLWB) asm volatile("clwb %0" : : "m"(*line) : "memory");
  if (kind == POWERCUT_CLFLUSHOPT) asm volatile("clflushopt %0" : : "m"(*line) : "memory");
  if (kind == POWERCUT_CLFLUSH) asm volatile("clflush %0" : : "m"(*line) : "memory");
}

void __powercut_do_fence(unsigned kind) {
  const powercut::runtime::CallSite site = call_site();
  settle();
  active_sink.fence(active_sink.self, kind, site.pc, site.frame);
  if (kind == POWERCUT_SFENCE) asm volatile("sfence" : : : "memory");
  if (kind == POWERCUT_MFENCE) asm volatile("mfence" : : : "memory");
}

void __powercut_do_stream(void* address, const void* value, unsigned long size) {
  const powercut::runtime::CallSite site = call_site();
  settle();
  powercut::runtime::store_around_cache(announce_store(address, size, POWERCUT_STORE_NT, value, site), value, size);
}

// clang's names for calls that gcc leaves to the C library.
void* __powercut_memcpy(void*, const void*, size_t);
void* __powercut_memmove(void*, const void*, size_t);
void* __powercut_memset(void*, int, size_t);
[[gnu::naked]] void* __tsan_memcpy(void*, const void*, size_t) { asm("jmp __powercut_memcpy@PLT"); }
[[gnu::naked]] void* __tsan_memmove(void*, const void*, size_t) { asm("jmp __powercut_memmove@PLT"); }
[[gnu::naked]] void* __tsan_memset(void*, int, size_t) { asm("jmp __powercut_memset@PLT"); }

}  // extern "C"
