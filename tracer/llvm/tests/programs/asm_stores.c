// Stores and locked instructions in inline assembly.
#include <emmintrin.h>

#include "pool.h"

void run(char* pool) {
  long value = 0x1111111111111111;
  int four = 0x22222222;
  char swapped = 7;
  __asm__ volatile("movnti %1, %0" : "=m"(*AT(long, 0)) : "r"(value) : "memory");
  __asm__ volatile("movntil %1, (%0)" : : "r"(pool + 8), "r"(four) : "memory");
  __asm__ volatile("movntdq %1, %0" : "=m"(*(__m128i*)(pool + 16)) : "x"(_mm_set1_epi32(3)) : "memory");
  __asm__ volatile("movq %1, %0" : "=m"(*AT(long, 32)) : "r"(value) : "memory");
  __asm__ volatile("movl $5, %0" : "=m"(*AT(int, 40)) : : "memory");
  __asm__ volatile("mov %1, 4(%0)" : : "r"(pool + 40), "r"(four) : "memory");
  __asm__ volatile("lock xaddl %0, %1" : "+r"(four), "+m"(*AT(int, 64)) : : "memory");
  __asm__ volatile("lock; incq %0" : "+m"(*AT(long, 72)) : : "memory");
  __asm__ volatile("lock\n\torb %1, %0" : "+m"(*AT(char, 80)) : "iq"((char)3) : "memory");
  __asm__ volatile("xchgb %0, %1" : "+q"(swapped), "+m"(*AT(char, 81)) : : "memory");
  long expected = 1;
  __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(expected), "+m"(*AT(long, 72)) : "r"(9L) : "memory", "cc");
  __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(expected), "+m"(*AT(long, 88)) : "r"(9L) : "memory", "cc");
  __asm__ volatile("lock; addl $0, 0(%%rsp)" : : : "memory", "cc");
}
