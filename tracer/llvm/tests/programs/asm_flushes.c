// cpu: clflushopt clwb
// Every spelling of flushes and fences in inline assembly that published code uses.
#include "pool.h"

void run(char* pool) {
  volatile char* line = pool;
  __asm__ volatile("clwb %0" : "+m"(*line));
  __asm__ volatile("clflushopt %0" : "+m"(*line));
  __asm__ volatile("clflush %0" : "+m"(*line));
  __asm__ volatile("CLWB (%0)" : : "r"(pool + 64) : "memory");
  __asm__ volatile("clwb 64(%0)" : : "r"(pool + 64) : "memory");
  __asm__ volatile("clwb (%0,%1,8)" : : "r"(pool), "r"(24L) : "memory");
  __asm__ volatile("clflush %a0" : : "r"(pool + 256) : "memory");
  __asm__ volatile("clflush %0" : : "p"(pool + 320) : "memory");
  __asm__ volatile(".byte 0x66; clflush %0" : "+m"(*(line + 384)));
  __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*(line + 448)));
  __asm__ volatile(".byte 0x66\n\tclflush %0" : "+m"(*(line + 512)));
  __asm__ volatile(".byte 102\n\txsaveopt (%0)" : : "r"(pool + 576) : "memory");
  __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0x30" : : "a"(pool + 640) : "memory");        // clwb (%rax)
  __asm__ volatile(".byte 0x66, 0x0f, 0xae, 0x7f, 0x40" : : "D"(pool + 640) : "memory");  // clflushopt 64(%rdi)
  __asm__ volatile("sfence" : : : "memory");
  __asm__ volatile("mfence" : : : "memory");
  __asm__ volatile("lfence" : : : "memory");
  __asm__ volatile(".byte 0x0f, 0xae, 0xf8" : : : "memory");  // sfence
  __asm__ volatile("clwb %0\n\tsfence # both" : "+m"(*(line + 768)) : : "memory");
  __asm__ volatile("clwb (%0)\n\tclwb 64(%0)\n\tsfence\n\t" : : "r"(pool + 1024) : "memory");
}
