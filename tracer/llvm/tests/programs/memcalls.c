// mem* calls: known and unknown lengths, calls of libc and intrinsics.
#define _GNU_SOURCE
#include <string.h>
#include <strings.h>

#include "pool.h"

static size_t unknown(size_t size) {
  __asm__("" : "+r"(size));
  return size;
}

void run(char* pool) {
  static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-0123456789abcdefghij";
  memcpy(pool, text, 24);
  BARRIER();
  memcpy(pool + 64, text, unknown(10));
  BARRIER();
  memcpy(pool + 120, text, 80);  // longer than a line
  BARRIER();
  memmove(pool + 4, pool, unknown(20));
  BARRIER();
  memset(pool + 256, 0xab, 16);
  BARRIER();
  memset(pool + 300, (int)unknown(0xcd), unknown(100));
  BARRIER();
  char* end = mempcpy(pool + 512, text, unknown(6));
  *end = '!';
  BARRIER();
  bzero(pool + 300, unknown(12));
  BARRIER();
  bcopy(text, pool + 640, unknown(5));
  BARRIER();
  memcpy(pool + 700, text, unknown(0));  // nothing
  BARRIER();
  __builtin_memcpy_inline(pool + 704, &text[0], 12);
  BARRIER();
}
