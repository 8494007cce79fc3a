/* String instructions, and with -DCALLS the functions that mean the same: one store of whatever size, between whose
 * moves the power may go. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSize = 4096 };
static char from[512];

#ifdef CALLS
static void move_bytes(char* to, size_t size) { memcpy(to, from, size); }
static void move_down(char* to, size_t size) { memcpy(to, from, size); }
static void move_words(char* to, size_t size) { memcpy(to, from, size / 8 * 8); }
static void fill(char* to, size_t size) { memset(to, 'f', size); }
#else
__attribute__((noinline)) static void move_bytes(char* to, size_t size) {
  const char* source = from;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(size) : : "memory");
}
__attribute__((noinline)) static void move_down(char* to, size_t size) {
  const char* source = from + size - 1;
  to += size - 1;
  __asm__ volatile("std\n\trep movsb\n\tcld" : "+D"(to), "+S"(source), "+c"(size) : : "memory", "cc");
}
__attribute__((noinline)) static void move_words(char* to, size_t size) {
  const char* source = from;
  size /= 8;
  __asm__ volatile("rep movsq" : "+D"(to), "+S"(source), "+c"(size) : : "memory");
}
__attribute__((noinline)) static void fill(char* to, size_t size) {
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"('f') : "memory");
}
#endif

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int fd = open(argv[1], O_RDWR);
  char* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || pool == MAP_FAILED) return 2;
  for (size_t i = 0; i < sizeof from; ++i) from[i] = (char)(i + 1);
  char* const to = pool + strtoul(argv[3], NULL, 10);
  const size_t size = strtoul(argv[4], NULL, 10);
  if (strcmp(argv[2], "movsb") == 0) move_bytes(to, size);
  if (strcmp(argv[2], "movsq") == 0) move_words(to, size);
  if (strcmp(argv[2], "stosb") == 0) fill(to, size);
  if (strcmp(argv[2], "down") == 0) move_down(to, size);
  return 0;
}
