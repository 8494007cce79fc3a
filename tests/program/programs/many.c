/* Twenty lines that no flush makes durable, and a count that no entry is read without; `many run POOL`, `many check
 * POOL`. A power cut leaves a million images, of which recovery can tell two apart. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kLines = 20, kSize = 8192 };

int main(int argc, char** argv) {
  const int file = argc == 3 ? open(argv[2], O_RDWR | O_CREAT, 0644) : -1;
  if (file < 0 || ftruncate(file, kSize) != 0) return 2;
  volatile uint64_t* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 3;
  if (strcmp(argv[1], "run") == 0) {
    for (int line = 1; line <= kLines; ++line) pool[line * 8] = (uint64_t)line;
    return 0;
  }
  for (uint64_t line = 1; line <= pool[0]; ++line) {
    if (pool[line * 8] != line) return 1;
  }
  return pool[8] > 1;
}
