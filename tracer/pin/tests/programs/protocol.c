// Every kind of event that a binary tracer records, on a pool file: protocol POOL. One thread after the other, so that
// the order is always the same.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSize = 8192 };

static void clwb(const void* at) { __asm__ volatile("clwb %0" : : "m"(*(const char*)at) : "memory"); }
static void clflushopt(const void* at) { __asm__ volatile("clflushopt %0" : : "m"(*(const char*)at) : "memory"); }
static void clflush(const void* at) { __asm__ volatile("clflush %0" : : "m"(*(const char*)at) : "memory"); }
static void sfence(void) { __asm__ volatile("sfence" : : : "memory"); }
static void mfence(void) { __asm__ volatile("mfence" : : : "memory"); }
static void movnti(uint64_t* at, uint64_t value) {
  __asm__ volatile("movnti %1, %0" : "=m"(*at) : "r"(value) : "memory");
}
static void rep_stosb(void* at, int value, uint64_t size) {
  __asm__ volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
}

static char* pool;

static void* second_thread(void* argument) {
  (void)argument;
  pool[1024] = 1;
  clwb(pool + 1024);
  sfence();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, kSize) != 0) return 2;
  pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  volatile uint64_t* words = (volatile uint64_t*)pool;

  powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, "value", 5);
  words[0] = 0x1122334455667788;  // sizes, and every spelling of a flush
  clwb(pool);
  ((volatile uint8_t*)pool)[64] = 1;
  clflushopt(pool + 64);
  sfence();
  ((volatile uint16_t*)pool)[64] = 2;
  clflush(pool + 128);
  ((volatile uint32_t*)pool)[48] = 3;  // never flushed
  movnti((uint64_t*)pool + 32, 4);
  mfence();
  powercut_mark_end(0, NULL, 0);

  rep_stosb(pool + 300, 0x5A, 100);
  clwb(pool + 320);  // the middle one of its lines
  uint64_t expected = 0;
  __atomic_compare_exchange_n((uint64_t*)pool + 64, &expected, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  expected = 0;  // fails, and fences all the same
  words[65] = 8;
  clwb(pool + 512);
  __atomic_compare_exchange_n((uint64_t*)pool + 64, &expected, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  __atomic_exchange_n((uint64_t*)pool + 66, 10, __ATOMIC_SEQ_CST);

  powercut_mark_begin(POWERCUT_MARK_LOOKUP, "key", 3, NULL, 0);
  powercut_mark_end(0, "value", 5);
  pthread_t thread;
  if (pthread_create(&thread, NULL, second_thread, NULL) != 0) return 2;
  pthread_join(thread, NULL);

  // Called directly: a C library may lock around a call that can be cancelled, and another one not.
  if (syscall(SYS_pwrite64, file, "written", 7, 4096) != 7 || syscall(SYS_fsync, file) != 0) return 2;
  words[600] = 11;
  if (syscall(SYS_msync, pool + 4096, 4096, MS_SYNC) != 0) return 2;
  powercut_mark_point("done");
  return munmap(pool, kSize) == 0 && close(file) == 0 ? 0 : 2;
}
