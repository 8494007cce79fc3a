/* The library of uninstrumented_library.c. */
#include <stdint.h>

void* arena_slot(uint64_t* next, void* slots, int unflushed) {
  char* slot = (char*)slots + 64 * *next;
  *next = *next + 1;
  if (!unflushed) {
    __asm__ volatile("clwb %0" ::"m"(*next) : "memory");
    __asm__ volatile("sfence" ::: "memory");
  }
  return slot;
}
