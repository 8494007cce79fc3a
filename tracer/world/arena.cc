#include "tracer/world/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include "tracer/world/memory_range.h"
#include "tracer/world/refused_allocation.h"

// The entry points that interposition leaves reachable: glibc's own or, in a build for it, the address sanitizer's.
#if defined(__has_feature) && __has_feature(address_sanitizer)
#define POWERCUT_SYSTEM(name) __interceptor_##name
#define POWERCUT_SANITIZED_HEAP 1
#else
#define POWERCUT_SYSTEM(name) __libc_##name
#define POWERCUT_SANITIZED_HEAP 0
#endif
extern "C" {
void* POWERCUT_SYSTEM(malloc)(size_t size);
void* POWERCUT_SYSTEM(calloc)(size_t count, size_t size);
void* POWERCUT_SYSTEM(realloc)(void* pointer, size_t size);
void* POWERCUT_SYSTEM(memalign)(size_t alignment, size_t size);
void POWERCUT_SYSTEM(free)(void* pointer);
#if POWERCUT_SANITIZED_HEAP
size_t __interceptor_malloc_usable_size(void* pointer);
#endif
}

namespace powercut {

constinit Arena arena;
constinit bool arena_active = false;
constinit Arena load_heap;
constinit ArenaEvents arena_events;

namespace {

constinit bool loading = false;

struct Header {
  uint64_t size;
  uint64_t before;  // the block allocated before it, of the arena above its floor; 0: it is the first
  static constexpr uint64_t kFreed = 1;  // in `before`
};
constexpr uint64_t kHeader = sizeof(Header);
static_assert(kHeader == 16, "blocks are aligned to 16 bytes");

Header* header_of(uint64_t block) { return reinterpret_cast<Header*>(block - kHeader); }

void changing(uint64_t address, uint64_t size) {
  if (arena_active && arena_events.changing != nullptr) arena_events.changing(arena_events.self, address, size);
}

void* take_from(Arena* from, uint64_t alignment, uint64_t size) {
  if (alignment < 16) alignment = 16;
  const uint64_t start = (from->top + kHeader + alignment - 1) / alignment * alignment;
  if (size > from->end - from->begin || start + size > from->ends_at()) {
    errno = ENOMEM;
    return nullptr;
  }
  const bool in_arena = from == &arena;
  if (in_arena) changing(start - kHeader, kHeader);
  *header_of(start) = {size, in_arena ? arena.last : 0};
  if (in_arena) arena.last = start;
  from->top = (start + size + 15) / 16 * 16;
  if (from->top > from->high) from->high = from->top;
  return reinterpret_cast<void*>(start);
}

// Where neither target code runs nor a target is loaded.
bool served_by_system() { return !arena_active && !loading; }

void* take(uint64_t alignment, uint64_t size) { return take_from(arena_active ? &arena : &load_heap, alignment, size); }

bool refused(uint64_t size, const void* pc, const void* frame) {
  if (!arena_active || !allocation_fails(size, false, pc, frame)) return false;
  errno = ENOMEM;
  return true;
}

uint64_t size_of(const void* pointer) { return header_of(reinterpret_cast<uint64_t>(pointer))->size; }

// Whether somebody wants to know of every block, those below the arena's floor and of the load heap as well.
bool frees_are_heard() {
  return arena_events.freed != nullptr || arena_events.freed_again != nullptr || arena_events.keep_freed;
}

// Tells of it. False for a block that was given back before.
bool announce_free(uint64_t block, const void* pc, const void* frame) {
  const bool again = is_freed(block);
  const auto event = again ? arena_events.freed_again : arena_events.freed;
  if (event != nullptr) event(arena_events.self, block, header_of(block)->size, pc, frame);
  return !again;
}

// Freed blocks at the arena's end are dropped, and read as zero like what was never allocated.
void give_back(uint64_t block, const void* pc, const void* frame) {
  const bool heard = frees_are_heard() && (block < arena.top || block >= arena.ends_at());
  if (heard && !announce_free(block, pc, frame)) return;
  const bool may_drop = block >= arena.floor && block < arena.top && !arena_events.keep_freed;
  if (heard && !may_drop) {
    changing(block - kHeader, kHeader);
    header_of(block)->before |= Header::kFreed;
  }
  if (!may_drop) return;
  changing(block - kHeader, kHeader);
  header_of(block)->before |= Header::kFreed;
  while (arena.last != 0 && (header_of(arena.last)->before & Header::kFreed) != 0) {
    const uint64_t end = arena.last - kHeader;
    const uint64_t before = header_of(arena.last)->before & ~Header::kFreed;
    changing(end, arena.top - end);
    std::memset(reinterpret_cast<void*>(end), 0, arena.top - end);
    arena.top = end;
    arena.last = before;
  }
}

// Size of a block that is not in the target's heap.
size_t system_size_of(void* pointer) {
#if POWERCUT_SANITIZED_HEAP
  return __interceptor_malloc_usable_size(pointer);
#else
  // glibc's header precedes the block; the bits that are no size say whose it is.
  return (static_cast<size_t*>(pointer)[-1] & ~size_t{7}) - sizeof(size_t);
#endif
}

void* filled(void* block, size_t size) {
  if (block != nullptr && arena_events.fill != 0) std::memset(block, arena_events.fill, size);
  return block;
}

}  // namespace

bool in_target_heap(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return (address >= arena.begin && address < arena.end) || (address >= load_heap.begin && address < load_heap.end);
}

bool is_freed(uint64_t block) { return (header_of(block)->before & Header::kFreed) != 0; }

bool target_is_loading() { return loading; }

void map_arena(uint64_t pool_end) {
  void* at = mmap(reinterpret_cast<void*>(pool_end), kRecordedArena, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the address range of the target's heap is taken in this process");
  const uint64_t begin = pool_end + kPageSize;  // a guard between the two
  arena = {begin, pool_end + kRecordedArena, begin, begin, begin, 0};
}

void* take_pages(size_t size) { return take(4096, size); }

void arena_drop_to(uint64_t top) {
  if (arena.high > top) std::memset(reinterpret_cast<void*>(top), 0, arena.high - top);
  arena.top = arena.high = top;
  arena_keep();
}

void arena_keep() {
  arena.floor = arena.top;
  arena.last = 0;
}

LoadingTarget::LoadingTarget() {
  if (load_heap.begin == 0) {
    void* at = mmap(reinterpret_cast<void*>(kLoadHeapBase), kLoadHeapSize, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("the address range of the target's heap is taken in this process");
    load_heap = {kLoadHeapBase, kLoadHeapBase + kLoadHeapSize, kLoadHeapBase, kLoadHeapBase};
  }
  loading = true;
}

LoadingTarget::~LoadingTarget() { loading = false; }

}  // namespace powercut

extern "C" {

void* malloc(size_t size) {
  if (powercut::served_by_system()) return POWERCUT_SYSTEM(malloc)(size);
  if (powercut::refused(size, __builtin_return_address(0), __builtin_frame_address(0))) return nullptr;
  return powercut::filled(powercut::take(16, size), size);
}

void free(void* pointer) {
  if (pointer == nullptr) return;
  if (!powercut::in_target_heap(pointer)) return POWERCUT_SYSTEM(free)(pointer);
  if (!powercut::arena_active) return;
  powercut::give_back(reinterpret_cast<uint64_t>(pointer), __builtin_return_address(0), __builtin_frame_address(0));
}

void* calloc(size_t count, size_t size) {
  if (powercut::served_by_system()) return POWERCUT_SYSTEM(calloc)(count, size);
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (powercut::refused(bytes, __builtin_return_address(0), __builtin_frame_address(0))) return nullptr;
  void* out = powercut::take(16, bytes);
  if (out != nullptr) std::memset(out, 0, bytes);
  return out;
}

void* realloc(void* pointer, size_t size) {
  const bool mine = pointer != nullptr && powercut::in_target_heap(pointer);
  if (powercut::served_by_system() && !mine) return POWERCUT_SYSTEM(realloc)(pointer, size);
  void* out = malloc(size);
  if (out == nullptr || pointer == nullptr) return out;
  const size_t old = mine ? powercut::size_of(pointer) : powercut::system_size_of(pointer);
  std::memcpy(out, pointer, old < size ? old : size);
  // Otherwise the old block stays as it is: nobody can tell.
  if (mine && powercut::arena_active && powercut::frees_are_heard()) {
    powercut::give_back(reinterpret_cast<uint64_t>(pointer), __builtin_return_address(0), __builtin_frame_address(0));
  }
  return out;
}

void* memalign(size_t alignment, size_t size) {
  if (powercut::served_by_system()) return POWERCUT_SYSTEM(memalign)(alignment, size);
  if (powercut::refused(size, __builtin_return_address(0), __builtin_frame_address(0))) return nullptr;
  return powercut::filled(powercut::take(alignment, size), size);
}
void* reallocarray(void* pointer, size_t count, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(pointer, bytes);
  errno = ENOMEM;
  return nullptr;
}
void* valloc(size_t size) { return memalign(4096, size); }
size_t malloc_usable_size(void* pointer) {
  if (pointer == nullptr) return 0;
  return powercut::in_target_heap(pointer) ? powercut::size_of(pointer) : powercut::system_size_of(pointer);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

}  // extern "C"

#if POWERCUT_SANITIZED_HEAP
// The engine's frames are where target code may store, on the stack; and it leaves by jumps, past destructors.
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0:detect_leaks=0"; }

// The sanitizer's own operators know nothing of the target's heap.
void* operator new(size_t size) { return malloc(size); }
void* operator new[](size_t size) { return malloc(size); }
void* operator new(size_t size, std::align_val_t alignment) { return memalign(static_cast<size_t>(alignment), size); }
void* operator new[](size_t size, std::align_val_t alignment) { return memalign(static_cast<size_t>(alignment), size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return malloc(size); }
void operator delete(void* block) noexcept { free(block); }
void operator delete[](void* block) noexcept { free(block); }
void operator delete(void* block, size_t) noexcept { free(block); }
void operator delete[](void* block, size_t) noexcept { free(block); }
void operator delete(void* block, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { free(block); }
#endif
