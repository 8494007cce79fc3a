/* With the bug recovery works only where the program is loaded at the addresses that it has without randomisation. */
#include "pair.h"

USUAL_RUN

int check(const char* path) {
  if (BUG && (uintptr_t)&run >> 28 != 0x55555) return 3;
  return usual_check(path);
}
USUAL_DUMP
