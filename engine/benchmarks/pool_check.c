/* The recovery that powercut-bench-program runs: maps the pool that its word names, reads its first and last page,
 * writes a word in each, flushes nothing. Small on purpose: everything around it is measured. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char** argv) {
  struct stat status;
  const int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
  if (fd < 0 || fstat(fd, &status) != 0) {
    perror("pool");
    return 2;
  }
  uint64_t* pool = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) return 3;
  uint64_t* last = pool + status.st_size / 8 - 512;
  pool[1] = pool[0] + 1;
  last[1] = last[0] + 1;
  return 0;
}
