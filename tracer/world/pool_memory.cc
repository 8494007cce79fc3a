#include "tracer/world/pool_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/system_call.h"
#include "tracer/runtime/hooks.h"
#include "tracer/world/memory_range.h"

namespace powercut {
namespace {

void map_at(uint64_t address, uint64_t size, int protection) {
  void* at = mmap(reinterpret_cast<void*>(address), size, protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the pool's address range is taken in this process");
}

}  // namespace

// One page more of bytes: a load that begins in the pool may end behind it.
void map_pool(uint64_t size) {
  map_at(kPoolBase, size, PROT_NONE);
  map_at(kPoolBase + kPoolShift, size + kPageSize, PROT_READ | PROT_WRITE);
  __powercut_alias = {kPoolBase, size, kPoolShift};
}

void unmap_pool(uint64_t size) {
  __powercut_alias = {0, 0, 0};
  munmap(reinterpret_cast<void*>(kPoolBase), size);
  munmap(pool_bytes(), size + kPageSize);
}

void map_plain_pool(uint64_t size) { map_at(kPoolBase, size, PROT_READ | PROT_WRITE); }

bool clear_pool(uint64_t size) { return madvise(pool_bytes(), size, MADV_DONTNEED) == 0; }

bool pool_was_written_around(uint64_t size) {
  auto* pool = reinterpret_cast<uint8_t*>(kPoolBase);
  // Pages that were never accessible are not there. One that a trap made accessible was zeroed afterwards.
  std::vector<unsigned char> present((size + kPageSize - 1) / kPageSize);
  if (mincore(pool, size, present.data()) != 0) return true;
  bool written = false;
  for (size_t page = 0; page < present.size() && !written; ++page) {
    if ((present[page] & 1) == 0) continue;
    uint8_t* at = pool + page * kPageSize;
    if (system_call(SYS_mprotect, at, kPageSize, PROT_READ) != 0) return true;
    written = std::any_of(at, at + kPageSize, [](uint8_t byte) { return byte != 0; });
    system_call(SYS_mprotect, at, kPageSize, PROT_NONE);
  }
  return written;
}

}  // namespace powercut
