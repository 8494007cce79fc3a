#include "replayer/arena.h"

#include <cerrno>
#include <cstring>

#include "replayer/faults_allocation.h"

// glibc's own entry points, which interposition leaves reachable.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);
}

namespace powercut {

constinit Arena arena;
constinit bool arena_active = false;

namespace {

constexpr uint64_t kHeader = 16;  // holds the block's size; keeps 16-byte alignment

bool owned(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return address >= arena.begin && address < arena.end;
}

void* take(uint64_t alignment, uint64_t size) {
  if (alignment < 16) alignment = 16;
  const uint64_t start = (arena.top + kHeader + alignment - 1) / alignment * alignment;
  if (size > arena.end - arena.begin || start + size > arena.end) {
    errno = ENOMEM;
    return nullptr;
  }
  *reinterpret_cast<uint64_t*>(start - kHeader) = size;
  arena.top = (start + size + 15) / 16 * 16;
  if (arena.top > arena.high) arena.high = arena.top;
  return reinterpret_cast<void*>(start);
}

bool refused(uint64_t size, const void* pc, const void* frame) {
  if (!allocation_fails(size, false, pc, frame)) return false;
  errno = ENOMEM;
  return true;
}

uint64_t size_of(const void* pointer) {
  return *reinterpret_cast<const uint64_t*>(reinterpret_cast<uint64_t>(pointer) - kHeader);
}

}  // namespace

void arena_drop_to(uint64_t top) {
  if (arena.high > top) std::memset(reinterpret_cast<void*>(top), 0, arena.high - top);
  arena.top = arena.high = top;
}

}  // namespace powercut

extern "C" {

void* malloc(size_t size) {
  if (!powercut::arena_active) return __libc_malloc(size);
  return powercut::refused(size, __builtin_return_address(0), __builtin_frame_address(0)) ? nullptr
                                                                                          : powercut::take(16, size);
}

void free(void* pointer) {
  if (pointer != nullptr && !powercut::owned(pointer)) __libc_free(pointer);
}

void* calloc(size_t count, size_t size) {
  if (!powercut::arena_active) return __libc_calloc(count, size);
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
  const bool mine = pointer != nullptr && powercut::owned(pointer);
  if (!powercut::arena_active && !mine) return __libc_realloc(pointer, size);
  void* out = malloc(size);
  if (out == nullptr || pointer == nullptr) return out;
  // A block from outside the arena has an unknown size there; glibc's own header precedes the pointer.
  const size_t old = mine ? powercut::size_of(pointer) : (reinterpret_cast<size_t*>(pointer)[-1] & ~size_t{7}) - 16;
  std::memcpy(out, pointer, old < size ? old : size);
  return out;
}

void* memalign(size_t alignment, size_t size) {
  if (!powercut::arena_active) return __libc_memalign(alignment, size);
  return powercut::refused(size, __builtin_return_address(0), __builtin_frame_address(0))
             ? nullptr
             : powercut::take(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

}  // extern "C"
