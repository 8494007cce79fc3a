// Everything that system calls do to pools: mappings, remappings, writes, sizes, syncs.
#define _GNU_SOURCE
#include <sys/uio.h>

#include "pool.h"

enum { kPage = 4096 };

int main(int argc, char** argv) {
  (void)argc;
  const int one = open_file(argv[1], 4 * kPage), two = open_file(argv[2], 2 * kPage);
  const int other = open_file(argv[3], kPage);

  /* One file twice, and from the middle. */
  char* first = map(one, 4 * kPage, 0);
  char* second = map(one, kPage, 2 * kPage);
  AT(int, first) = 0x11;
  AT(int, second + 8) = 0x22;
  CHECK(AT(int, first + 2 * kPage + 8) == 0x22);
  AT(int, map(two, 2 * kPage, 0) + 16) = 0x33;

  /* Neither a private mapping nor another file is a pool. */
  char* private_copy = (char*)mmap(0, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, one, 0);
  AT(int, private_copy) = 0x7f;
  AT(int, map(other, kPage, 0)) = 0x7f;

  /* Moved and grown. */
  char* moved = (char*)mremap(second, kPage, 2 * kPage, MREMAP_MAYMOVE);
  CHECK(moved != (char*)MAP_FAILED);
  AT(int, moved + kPage + 24) = 0x44;

  /* Something else in the place of a mapping. */
  CHECK(mmap(moved, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == moved);
  AT(int, moved) = 0x7f;
  CHECK(munmap(moved + kPage, kPage) == 0);

  /* The system writes: into mapped memory, and to the file. */
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], "from a pipe", 11) == 11);
  CHECK(read(ends[0], first + 64, 11) == 11);
  CHECK(lseek(one, 128, SEEK_SET) == 128 && write(one, "written", 7) == 7);
  CHECK(pwrite(one, "pwritten", 8, 192) == 8);
  struct iovec parts[2] = {{(void*)"gath", 4}, {(void*)"ered", 4}};
  CHECK(pwritev(one, parts, 2, 256) == 8);
  CHECK(write(ends[1], "not a pool", 10) == 10);

  /* Durable: a range by msync, the rest by fsync. */
  CHECK(msync(first, kPage, MS_SYNC) == 0);
  AT(int, first + kPage) = 0x55;
  CHECK(fdatasync(one) == 0);

  /* Shorter, and its bytes are gone; then longer. */
  CHECK(munmap(first, 4 * kPage) == 0);
  CHECK(ftruncate(one, kPage) == 0);
  CHECK(fallocate(one, 0, 0, 5 * kPage) == 0);
  CHECK(fallocate(one, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 64, 16) == 0);
  return 0;
}
