/* A recovery that changes its pool as its words say; `test-changes HOW POOL`. Built twice: as anybody would, and by the
 * compiler pass. Its reads do not matter. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int file;

static unsigned char* map(int protection, int flags, off_t offset, size_t length) {
  unsigned char* const mapped = mmap(NULL, length, protection, flags, file, offset);
  if (mapped == MAP_FAILED) exit(91);
  return mapped;
}

static int by_first_byte(const void* a, const void* b) { return *(const unsigned char*)a - *(const unsigned char*)b; }

static void copy_by_assembly(void* to, const void* from, size_t count) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char *const how = argv[1], *const path = argv[2];
  unsigned char copy[64] = "some bytes";
  file = open(path, O_RDWR);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 90;
  const size_t size = (size_t)status.st_size;
  unsigned char* const pool = map(PROT_READ | PROT_WRITE, MAP_SHARED, 0, size);
#define IS(name) (strcmp(how, name) == 0)
  if (IS("stores")) {
    for (size_t page = 0; page < 4; ++page) *(volatile uint64_t*)(pool + 4096 * page + 800) = page + 1;
    __sync_fetch_and_add((uint64_t*)(pool + 4096 * 5 + 8), 3);
    __atomic_exchange_n(pool + 4096 * 6 + 8, 7, __ATOMIC_SEQ_CST);
  } else if (IS("functions")) {
    memset(pool + 4000, 5, 200);
    memcpy(pool + 4096 * 3 - 50, pool, 300);
    strcpy((char*)pool + 4096 * 5, "a text");
    snprintf((char*)pool + 4096 * 7 - 3, 20, "%d numbers", 1234);
    qsort(pool + 64, 16, 4, by_first_byte);
  } else if (IS("assembly")) {
    copy_by_assembly(pool + 4096 * 2 - 30, pool + 33, 100);
    copy_by_assembly(pool + 4096 * 4 - 30, "from elsewhere", 14);
    asm volatile("movdqu %%xmm0, (%0)\n\tnotb 4096(%0)\n\tlock incl 8192(%0)" : : "r"(pool + 100) : "memory");
  } else if (IS("read-into")) {
    const struct iovec parts[2] = {{pool + 4090, 10}, {pool + 4096 * 5, 20}};
    if (pread(file, pool + 4096 * 3, 64, 256) != 64 || preadv(file, parts, 2, 300) != 30) return 92;
    if (read(file, pool + 4096 * 6, 100) != 100) return 93;
  } else if (IS("calls")) {
    const struct iovec parts[2] = {{copy, sizeof copy}, {copy, 20}};
    if (pwrite(file, "abc", 3, 4095) != 3 || pwritev(file, parts, 2, 4096 * 3 - 8) != 84) return 92;
    if (lseek(file, 4096 * 5, SEEK_SET) < 0 || write(file, "abcd", 4) != 4 || writev(file, parts, 2) != 84) return 93;
    FILE* const stream = fdopen(dup(file), "r+");
    if (stream == NULL || fseek(stream, 4096 * 7, SEEK_SET) != 0 || fputs("text", stream) < 0) return 94;
    fclose(stream);
  } else if (IS("output")) { /* the pool is standard output for a while */
    const int before = dup(STDOUT_FILENO);
    if (dup2(file, STDOUT_FILENO) < 0 || write(STDOUT_FILENO, "abc", 3) != 3) return 92;
    if (dup2(before, STDOUT_FILENO) < 0) return 93;
  } else if (IS("size")) {
    if (ftruncate(file, 100) != 0 || ftruncate(file, (off_t)size) != 0) return 92;
  } else if (IS("hole")) {
    if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192) != 0) return 92;
  } else if (IS("removed")) {
    if (madvise(pool, 8192, MADV_REMOVE) != 0) return 92;
  } else if (IS("all")) {
    const int again = open(path, O_RDWR | O_TRUNC);
    if (again < 0 || pwrite(again, "abc", 3, (off_t)size - 3) != 3) return 92;
  } else if (IS("more")) { /* behind its end */
    const int end = open(path, O_WRONLY | O_APPEND);
    if (end < 0 || write(end, "abc", 3) != 3 || pwrite(file, "abc", 3, (off_t)size + 10000) != 3) return 92;
  } else if (IS("protected")) {
    if (mprotect(pool, 3 * 4096, PROT_READ) != 0 || mprotect(pool, 4096, PROT_READ | PROT_WRITE) != 0) return 92;
    pool[8] = 1;
    if (mprotect(pool, 4096, PROT_READ) != 0 || mprotect(pool, 8192, PROT_WRITE) != 0) return 93;
    pool[4104] = pool[9] = 2;
  } else if (IS("mapped")) { /* three mappings, one of them for writing alone, one gone again */
    unsigned char* const other = map(PROT_WRITE, MAP_SHARED, 4096, 8192);
    other[4099] = other[0] = 6;
    munmap(other, 8192);
    map(PROT_READ | PROT_WRITE, MAP_SHARED, 0, 8192)[99] = 8;
    map(PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 8192)[4196] = 9;
  } else if (IS("replaced")) {
    if (unlink(path) != 0) return 92;
    pool[8] = 1;
    file = open(path, O_RDWR | O_CREAT, 0600);
    if (pwrite(file, "abc", 3, 9000) != 3) return 93;
  } else {
    return 98;
  }
  return 0;
}
