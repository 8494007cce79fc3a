/* Makes stores durable on x86-64. */
#ifndef PERSIST_H_
#define PERSIST_H_

#include <stddef.h>
#include <stdint.h>

static inline void flush(const void* address, size_t size) {
  const uintptr_t end = (uintptr_t)address + size;
  for (uintptr_t line = (uintptr_t)address & ~(uintptr_t)63; line < end; line += 64) {
    __asm__ volatile("clwb %0" ::"m"(*(const char*)line) : "memory");
  }
}

static inline void fence(void) { __asm__ volatile("sfence" ::: "memory"); }

/* The bytes are durable at return. */
static inline void persist(const void* address, size_t size) {
  flush(address, size);
  fence();
}

/* A word changes as a whole, and is durable at return. */
static inline void publish(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
  persist(word, sizeof *word);
}

#endif /* PERSIST_H_ */
