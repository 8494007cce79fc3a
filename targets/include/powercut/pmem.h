// Persistence for programs under test: the real instructions, spelled once.
//
// Everything is inlined into the caller: a tracer sees each store, flush and fence at the caller's line,
// and the compiler pass needs no knowledge of this file. The write-back instruction is
// chosen once by CPUID (clwb, else clflushopt, else clflush). A run that must not depend on the CPU
// calls pmem_force_flush_kind first.
//
// Memory order: every flush and fence is also a compiler barrier. A compiler may still reorder, merge or
// split the *plain* stores between two barriers; a store that must be one write goes through atomic_store.
#ifndef POWERCUT_PMEM_H_
#define POWERCUT_PMEM_H_

#include <cpuid.h>
#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// Defined by the tracer's runtime; absent (null) in a program that is not linked with it.
extern "C" __attribute__((weak)) void powercut_mark(const char* name);

namespace powercut::pmem {

inline constexpr size_t kLine = 64;

// A build with POWERCUT_PMEM_COUNT counts what it asks of the machine, for tables of costs.
#ifdef POWERCUT_PMEM_COUNT
struct Counters {
  uint64_t atomic_loads = 0, atomic_stores = 0, flushes = 0, fences = 0;
};
inline Counters counters;
#define POWERCUT_PMEM_COUNT_ONE(what) (++::powercut::pmem::counters.what)
#else
#define POWERCUT_PMEM_COUNT_ONE(what) static_cast<void>(0)
#endif

enum class FlushKind : uint8_t { kClwb = 1, kClflushopt = 2, kClflush = 3 };

inline FlushKind detect_flush_kind() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return FlushKind::kClflush;
  if ((ebx & (1u << 24)) != 0) return FlushKind::kClwb;
  if ((ebx & (1u << 23)) != 0) return FlushKind::kClflushopt;
  return FlushKind::kClflush;
}

namespace internal {
inline FlushKind flush_kind = detect_flush_kind();
}  // namespace internal

inline FlushKind pmem_flush_kind() { return internal::flush_kind; }
// Precondition: the CPU has the instruction, or nothing executes it (a tracer may swallow it).
inline void pmem_force_flush_kind(FlushKind kind) { internal::flush_kind = kind; }

// Starts the write-back of the one line that contains `addr`. Durable after the next fence() only.
[[gnu::always_inline]] inline void flush_line(const void* addr) {
  POWERCUT_PMEM_COUNT_ONE(flushes);
  auto* line = static_cast<char*>(const_cast<void*>(addr));
  switch (internal::flush_kind) {
    case FlushKind::kClwb:
      asm volatile("clwb %0" : "+m"(*line)::"memory");
      break;
    case FlushKind::kClflushopt:
      asm volatile("clflushopt %0" : "+m"(*line)::"memory");
      break;
    case FlushKind::kClflush:
      asm volatile("clflush %0" : "+m"(*line)::"memory");
      break;
  }
}

// Starts the write-back of every line that [addr, addr + len) touches; nothing for len == 0.
[[gnu::always_inline]] inline void flush(const void* addr, size_t len) {
  const auto begin = reinterpret_cast<uintptr_t>(addr);
  for (uintptr_t line = begin & ~(kLine - 1); line < begin + len; line += kLine) {
    flush_line(reinterpret_cast<const void*>(line));
  }
}

[[gnu::always_inline]] inline void fence() {
  POWERCUT_PMEM_COUNT_ONE(fences);
  asm volatile("sfence" ::: "memory");
}

[[gnu::always_inline]] inline void persist(const void* addr, size_t len) {
  flush(addr, len);
  fence();
}

// One write that neither the compiler nor the machine tears. Precondition: naturally aligned.
template <typename T>
[[gnu::always_inline]] inline void atomic_store(T* addr, T value) {
  static_assert(sizeof(T) <= 8, "persistent memory writes 8 bytes at a time");
  POWERCUT_PMEM_COUNT_ONE(atomic_stores);
  __atomic_store_n(addr, value, __ATOMIC_RELEASE);
}

template <typename T>
[[gnu::always_inline]] inline T atomic_load(const T* addr) {
  POWERCUT_PMEM_COUNT_ONE(atomic_loads);
  return __atomic_load_n(addr, __ATOMIC_ACQUIRE);
}

// Non-temporal stores bypass the caches: durable after the next fence(), no flush needed.
[[gnu::always_inline]] inline void nt_store(uint64_t* addr, uint64_t value) {
  _mm_stream_si64(reinterpret_cast<long long*>(addr), static_cast<long long>(value));
}

// Precondition: `to` is 8-byte aligned and len is a multiple of 8.
[[gnu::always_inline]] inline void nt_copy(void* to, const void* from, size_t len) {
  for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, static_cast<const char*>(from) + at, sizeof word);
    nt_store(reinterpret_cast<uint64_t*>(static_cast<char*>(to) + at), word);
  }
}

// A turn of a loop that waits for another thread.
[[gnu::always_inline]] inline void pause() { _mm_pause(); }

// Names a place of the protocol that a scenario may expect to be reached, or may cut the power at.
[[gnu::always_inline]] inline void mark(const char* name) {
  if (powercut_mark != nullptr) powercut_mark(name);
}

}  // namespace powercut::pmem

#endif  // POWERCUT_PMEM_H_
