// str* calls and the printf functions that write to memory.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "pool.h"

static const char* unknown(const char* text) {
  __asm__("" : "+r"(text));
  return text;
}

void run(char* pool) {
  strcpy(pool, unknown("hello"));
  BARRIER();
  strcat(pool, unknown(", you"));
  BARRIER();
  strncpy(pool + 64, unknown("abc"), 8);  // pads with zeroes
  BARRIER();
  strncpy(pool + 80, unknown("abcdefgh"), 4);  // no terminator
  BARRIER();
  strncat(pool + 64, unknown("xyz"), 2);
  BARRIER();
  *stpcpy(pool + 128, unknown("end")) = '.';
  BARRIER();
  stpncpy(pool + 160, unknown("q"), 3);
  BARRIER();
  snprintf(pool + 192, 8, "%s-%d", unknown("item"), 12345);  // cut short
  BARRIER();
  sprintf(pool + 256, "%05.1f|%*d|%c|%%|%ld", 2.5, 4, 42, 'x', 7L);
  BARRIER();
}
