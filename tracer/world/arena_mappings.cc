// mmap and its kin, as target code calls them: anonymous memory comes from the arena, so that it vanishes with the
// execution. A file that is mapped to be read is copied there. A file that is mapped to be written outlives the
// execution: that is not modelled, and the execution ends as unknown.
//
// Known inaccuracy: memory that was unmapped or protected can still be used; a fault that this would raise is not seen.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "base/system_call.h"
#include "tracer/world/arena.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_address.h"

namespace powercut {
namespace {

uint64_t whole_pages(uint64_t size) { return (size + kPageSize - 1) / kPageSize * kPageSize; }

void refuse(const char* sentence) {
  if (arena_events.unmodelled == nullptr) return;
  arena_events.unmodelled(arena_events.self, sentence, __builtin_return_address(0), __builtin_frame_address(0));
}

void clear(void* at, size_t size) {
  if (arena_events.changing != nullptr) {
    arena_events.changing(arena_events.self, reinterpret_cast<uint64_t>(at), size);
  }
  std::memset(at, 0, size);
}

void* map_in_arena(void* wanted, size_t size, int protection, int flags, int file, off_t offset) {
  const bool anonymous = (flags & MAP_ANONYMOUS) != 0;
  if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) {
    if (!anonymous || !in_target_heap(wanted)) refuse("it maps memory at an address of its own choice (MAP_FIXED)");
    clear(wanted, whole_pages(size));
    return wanted;
  }
  if (!anonymous && (flags & MAP_PRIVATE) == 0 && (protection & PROT_WRITE) != 0) {
    refuse("it maps a file to write to it (MAP_SHARED): the writes would outlive the execution");
  }
  if ((protection & PROT_EXEC) != 0) refuse("it maps memory for code (PROT_EXEC)");
  if (size == 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  void* out = take_pages(whole_pages(size));
  if (out == nullptr) {
    refuse("it maps more memory than the engine keeps for the target's heap (1 GiB)");
    return MAP_FAILED;
  }
  for (size_t done = 0; !anonymous && done < size;) {
    const ssize_t got = system_call(SYS_pread64, file, static_cast<char*>(out) + done, size - done, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MAP_FAILED;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return out;
}

// The pool's own mapping is the engine's: nothing is there that target code could change (pool_memory.h).
void refuse_of_pool(const void* at, size_t size) {
  const auto begin = reinterpret_cast<uint64_t>(at);
  if (arena_active && begin < arena.begin && begin + size > kPoolBase && begin + size > begin) {
    refuse("it changes how the pool is mapped");
  }
}

template <typename Function>
Function* next_named(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace powercut

using namespace powercut;

extern "C" {

void* mmap(void* wanted, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if ((flags & MAP_FIXED) != 0) refuse_of_pool(wanted, size);
  if (arena_active) return map_in_arena(wanted, size, protection, flags, file, offset);
  // A library that is being loaded maps its load heap anonymously; all other mappings stay as they are.
  const bool plain = (flags & MAP_ANONYMOUS) != 0 && (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0;
  if (target_is_loading() && plain && (protection & PROT_EXEC) == 0) {
    if (void* out = take_pages(whole_pages(size)); out != nullptr) return out;
  }
  return reinterpret_cast<void*>(system_call(SYS_mmap, wanted, size, protection, flags, file, offset));
}
void* mmap64(void* wanted, size_t size, int protection, int flags, int file, off64_t offset) noexcept {
  return mmap(wanted, size, protection, flags, file, offset);
}
int munmap(void* at, size_t size) noexcept {
  refuse_of_pool(at, size);
  return in_target_heap(at) && arena_active ? 0 : static_cast<int>(system_call(SYS_munmap, at, size));
}
void* mremap(void* old, size_t old_size, size_t size, int flags, ...) noexcept {
  refuse_of_pool(old, old_size);
  if (!arena_active || !in_target_heap(old)) {
    va_list rest;
    va_start(rest, flags);
    void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
    va_end(rest);
    return reinterpret_cast<void*>(system_call(SYS_mremap, old, old_size, size, flags, wanted));
  }
  if (whole_pages(size) <= whole_pages(old_size)) return old;
  if ((flags & MREMAP_MAYMOVE) == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* out = take_pages(whole_pages(size));
  if (out == nullptr) return MAP_FAILED;
  std::memcpy(out, old, old_size);
  return out;
}
int mprotect(void* at, size_t size, int protection) noexcept {
  refuse_of_pool(at, size);
  return in_target_heap(at) && arena_active ? 0 : static_cast<int>(system_call(SYS_mprotect, at, size, protection));
}
int madvise(void* at, size_t size, int advice) noexcept {
  if (advice == MADV_DONTNEED || advice == MADV_REMOVE) refuse_of_pool(at, size);
  if (!arena_active || !in_target_heap(at)) return static_cast<int>(system_call(SYS_madvise, at, size, advice));
  if (advice == MADV_DONTNEED || advice == MADV_FREE) clear(at, whole_pages(size));
  return 0;
}
int brk(void* end) noexcept {
  static const auto real = next_named<int(void*)>("brk");
  if (arena_active) refuse("it moves the end of the process's data (brk)");
  return real(end);
}
void* sbrk(intptr_t change) noexcept {
  static const auto real = next_named<void*(intptr_t)>("sbrk");
  if (arena_active && change != 0) refuse("it moves the end of the process's data (sbrk)");
  return real(change);
}

}  // extern "C"
