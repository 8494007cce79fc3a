// flags: -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
// levels: O2
// The checking forms that glibc's headers choose under _FORTIFY_SOURCE.
#include <stdio.h>
#include <string.h>

#include "pool.h"

struct record {
  char name[16], text[32];
};

static size_t unknown(size_t size) {
  __asm__("" : "+r"(size));
  return size;
}

void run(char* pool) {
  struct record* record = (struct record*)pool;
  char word[8] = "abcdefg";
  __asm__("" : "+m"(word));
  memcpy(record->name, word, unknown(4));
  BARRIER();
  memset(record->text, 'x', unknown(6));
  BARRIER();
  strcpy(record->name, word);
  BARRIER();
  snprintf(record->text, unknown(32), "%s", word);
  BARRIER();
}
