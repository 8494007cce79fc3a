// The pool of crash images as memory.
//
// A *watched* pool lies twice in the address space. At its own address, which is all that target code knows, nothing
// can be accessed. Its bytes are kept kPoolShift above: the hooks send instrumented code there, and the engine works
// there. An access that no hook announced therefore faults, whoever makes it, and is seen then (pool_traps.h).
#ifndef POWERCUT_TRACER_WORLD_POOL_MEMORY_H_
#define POWERCUT_TRACER_WORLD_POOL_MEMORY_H_

#include <cstdint>

#include "tracer/world/pool_address.h"

namespace powercut {

// Maps a watched pool, zeroed, and tells the hooks. Throws std::runtime_error when the range is taken.
void map_pool(uint64_t size);
void unmap_pool(uint64_t size);

// Maps a pool for code that nobody listens to, zeroed, at kPoolBase and nowhere else.
void map_plain_pool(uint64_t size);

// Zeroes the watched pool again.
bool clear_pool(uint64_t size);

// Whether something has written to the watched pool at its own address: no instruction can, so it was the kernel.
bool pool_was_written_around(uint64_t size);

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_POOL_MEMORY_H_
