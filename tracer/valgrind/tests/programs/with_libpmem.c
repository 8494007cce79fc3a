// Through libpmem: one store that is persisted, one that is flushed and never drained, a copy around the cache, and
// one of four bytes.
#include <libpmem.h>

#include "pool.h"

int main(int argc, char** argv) {
  (void)argc;
  size_t size = 0;
  char* pool = (char*)pmem_map_file(argv[1], 1 << 16, PMEM_FILE_CREATE, 0600, &size, 0);
  CHECK(pool != 0);
  AT(long, pool) = 42;
  pmem_persist(pool, 8);
  char bytes[512];
  memset(bytes, 7, sizeof bytes);
  pmem_memcpy(pool + 4096, bytes, sizeof bytes, PMEM_F_MEM_NONTEMPORAL);
  AT(long, pool + 64) = 43;
  pmem_flush(pool + 64, 8);
  const int word = 44;
  pmem_memcpy(pool + 8204, &word, sizeof word, PMEM_F_MEM_NODRAIN);
  return 0;
}
