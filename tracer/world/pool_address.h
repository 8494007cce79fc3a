// Where the pool lies, in every process of every run: pointers that a target keeps in it mean the same everywhere.
#ifndef POWERCUT_TRACER_WORLD_POOL_ADDRESS_H_
#define POWERCUT_TRACER_WORLD_POOL_ADDRESS_H_

#include <cstdint>

namespace powercut {

// Below 8 TiB, since Valgrind keeps what is above for itself; far from where the kernel, without randomisation, puts
// programs (85 TiB) and libraries (127 TiB), and from where Valgrind puts them (below 256 GiB).
#if defined(__has_feature) && __has_feature(address_sanitizer)
// The sanitizer's shadow takes that place. Its traces mean nothing to other builds where a target keeps pointers.
inline constexpr uint64_t kPoolBase = 0x200000000000;
#else
inline constexpr uint64_t kPoolBase = 0x060000000000;
#endif

// Where the bytes of a watched pool are kept (pool_memory.h): as far above it as the largest pool and its heap may
// need.
inline constexpr uint64_t kPoolShift = 0x010000000000;

// The bytes of the watched pool, for the engine. Target code knows addresses from kPoolBase on alone.
inline uint8_t* pool_bytes() { return reinterpret_cast<uint8_t*>(kPoolBase + kPoolShift); }

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_POOL_ADDRESS_H_
