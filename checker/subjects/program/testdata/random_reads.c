/* Reads, writes and moves bytes of its pool's first 512 in any order that SEED gives, in every way that reads.c knows:
 * `test-random-reads POOL SEED [told]`. With "told", in those ways alone that a run can tell of to the byte. Prints a
 * digest of all that it has read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kBytes = 512, kSize = 8192, kMost = 24, kSteps = 24 };

static uint64_t state, digest = 14695981039346656037u;

static unsigned below(unsigned limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % limit;
}

static void saw(const char* bytes, ssize_t size) {
  if (size < 0) exit(9);
  for (ssize_t i = 0; i < size; ++i) digest = (digest ^ (unsigned char)bytes[i]) * 1099511628211u;
}

static char* map(int pool, int flags) {
  char* mapped = mmap(NULL, kSize, PROT_READ | PROT_WRITE, flags, pool, 0);
  if (mapped == MAP_FAILED) exit(8);
  return mapped;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  state = strtoull(argv[2], NULL, 10);
  const int pool = open(argv[1], O_RDWR);
  int ends[2], sockets[2];
  const int told = argc > 3;
  if (pool < 0 || pipe(ends) != 0) return 98;
  if (!told && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 98;
  char* shared = map(pool, MAP_SHARED);
  char* private = told ? shared : map(pool, MAP_PRIVATE);
  for (int step = 0; step < kSteps; ++step) {
    char bytes[kMost];
    const unsigned size = 1 + below(kMost), at = below(kBytes - kMost), to = below(kBytes - kMost);
    struct iovec parts[2] = {{bytes, size / 2}, {bytes + size / 2, size - size / 2}};
    loff_t from = at, into = to;
    const unsigned way = below(19);
    if (told && (way == 10 || way == 11 || way == 13 || way == 14 || way == 18)) continue;
    switch (way) {
      case 0:
        saw(shared + at, size);
        break;
      case 1:
        saw(bytes, pread(pool, bytes, size, at));
        break;
      case 2:
        lseek(pool, at, SEEK_SET);
        saw(bytes, read(pool, bytes, size));
        break;
      case 3:
        saw(bytes, preadv(pool, parts, 2, at));
        break;
      case 4:
        memset(shared + at, step, size);
        break;
      case 5:
        memset(bytes, step, size);
        if (pwrite(pool, bytes, size, at) != size) return 7;
        break;
      case 6:
        memset(bytes, step, size);
        lseek(pool, at, SEEK_SET);
        if (write(pool, bytes, size) != size) return 7;
        break;
      case 7:
        saw(private + at, size);
        break;
      case 8:
        memset(private + at, step, size);
        break;
      case 9:
        if (write(ends[1], shared + at, size) != size) return 7;
        saw(bytes, read(ends[0], bytes, size));
        break;
      case 10:
        if (splice(pool, &from, ends[1], NULL, size, 0) != size) return 7;
        saw(bytes, read(ends[0], bytes, size));
        break;
      case 11:
        if (sendfile(sockets[0], pool, &from, size) != size) return 7;
        saw(bytes, read(sockets[1], bytes, size));
        break;
      case 12:
        if (pread(pool, shared + to, size, at) != size) return 7;
        break;
      case 13:
        munmap(private, kSize);
        private = map(pool, MAP_PRIVATE);
        break;
      case 14:
        if (to < at + kMost && at < to + kMost) break;
        if (copy_file_range(pool, &from, pool, &into, size, 0) != size) return 7;
        break;
      case 15:
        if (pwrite(pool, private + at, size, to) != size) return 7;
        break;
      case 16:
        memmove(shared + to, private + at, size);
        break;
      case 17:
        if (fallocate(pool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size) != 0) return 7;
        break;
      default:
        shared = mremap(shared, kSize, 2 * kSize, MREMAP_MAYMOVE);
        if (shared == MAP_FAILED || (shared = mremap(shared, 2 * kSize, kSize, 0)) == MAP_FAILED) return 7;
        break;
    }
  }
  printf("%016lx\n", (unsigned long)digest);
  return 0;
}
