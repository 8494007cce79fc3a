// The heap of target code: a bump allocator at a fixed address, dropped as a whole. Blocks at its end that an execution
// has allocated and freed are given out again. A loop which allocates and frees thus comes back to its state
// (loop_watch.h).
// While `arena_active` is set, the process's malloc family (interposed in arena.cc) serves from here. Everything that
// target code and the libraries under it allocate therefore vanishes with the execution.
//
// Allocations of a library that is being loaded (constructors, a global std::vector) lie beside it, in the load heap:
// it is the target's own memory like its globals. Executions may store to it and free it; it is never given out again.
#ifndef POWERCUT_TRACER_WORLD_ARENA_H_
#define POWERCUT_TRACER_WORLD_ARENA_H_

#include <cstddef>
#include <cstdint>

#include "tracer/world/pool_address.h"

namespace powercut {

struct Arena {
  uint64_t begin = 0, end = 0;
  uint64_t top = 0;    // next free byte
  uint64_t high = 0;   // bytes below were handed out at some time and are scrubbed when dropped
  uint64_t floor = 0;  // blocks below are never given out again
  uint64_t last = 0;   // the last block above it, 0: there is none
  uint64_t limit = 0;  // blocks end below it; 0: at `end`. Addresses above belong to other threads
  uint64_t ends_at() const { return limit == 0 ? end : limit; }
};

// One per process, since malloc is. Zero-initialised; set up by the Executor.
extern Arena arena;
extern bool arena_active;

// The load heap; empty until something was loaded. At one address in every process, like the pool.
inline constexpr uint64_t kLoadHeapBase = kPoolBase - (uint64_t{2} << 30), kLoadHeapSize = uint64_t{1} << 30;
extern Arena load_heap;

// While this lives, the malloc family serves from the load heap. Throws std::runtime_error when its range is taken.
class LoadingTarget {
 public:
  LoadingTarget();
  ~LoadingTarget();
  LoadingTarget(const LoadingTarget&) = delete;
  LoadingTarget& operator=(const LoadingTarget&) = delete;
};

// Whoever runs the target, told of what undoing depends on; null: nobody.
struct ArenaEvents {
  void* self = nullptr;
  // Memory of the target changes, without a hook.
  void (*changing)(void* self, uint64_t address, uint64_t size) = nullptr;
  // The target does what is not modelled. Does not return while target code is followed.
  void (*unmodelled)(void* self, const char* sentence, const void* pc, const void* frame) = nullptr;
  // Not 0: new blocks of malloc hold this byte, as they may hold anything (virtual_world.h, variants).
  uint8_t fill = 0;
  // Target code gives a block of malloc back; `size` is what it asked for, the place is the caller of free or realloc.
  // Called before anything changes.
  void (*freed)(void* self, uint64_t address, uint64_t size, const void* pc, const void* frame) = nullptr;
  // The target frees a block that it had freed before. Nothing changes. Without `keep_freed` some of these go
  // unnoticed: their memory serves other blocks by then.
  void (*freed_again)(void* self, uint64_t address, uint64_t size, const void* pc, const void* frame) = nullptr;
  // Freed blocks are not given out again and keep their bytes, for whoever looks for uses of them.
  bool keep_freed = false;
};
extern ArenaEvents arena_events;

// In the arena or the load heap.
bool in_target_heap(const void* address);
// Whether the block of malloc that begins here was given back; known while somebody hears of it.
bool is_freed(uint64_t block);
bool target_is_loading();
// Zeroed, at a page of its own; null when there is no room.
void* take_pages(size_t size);

// Maps an arena that begins behind a pool which ends at `pool_end`, for code that no executor runs. Throws
// std::runtime_error when its range is taken.
inline constexpr uint64_t kRecordedArena = uint64_t{1} << 30;
void map_arena(uint64_t pool_end);
// Drops everything allocated since `top`; its bytes read as zero again.
void arena_drop_to(uint64_t top);
// Whatever is allocated by now is not given out again when it is freed: an execution begins.
void arena_keep();

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_ARENA_H_
