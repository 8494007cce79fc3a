// Client requests, of pmemcheck by its numbers and of powercut/mark.h. The pool is memory that only the requests name.
#include "pool.h"
#include "powercut/mark.h"

#define PMC(number) ((unsigned)('P' << 24 | 'C' << 16) + (number))

static unsigned long request(unsigned long number, const volatile void* address, unsigned long size) {
  return powercut_mark_request(number, (unsigned long)address, size, 0, 0, 0);
}

static void flush_and_tell(char* line) {
  __asm__ volatile("clwb (%0)" : : "r"(line) : "memory");
  request(PMC(5), line, 8);
}

static void tell_and_flush(char* line) {
  request(PMC(5), line, 8);
  __asm__ volatile("clflushopt (%0)" : : "r"(line) : "memory");
}

int main(void) {
  char* pool = (char*)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  AT(int, pool + 4000) = 7;  // before it is registered: its content
  CHECK(powercut_mark_active());
  CHECK(request(PMC(3), pool, 4096) == 0);
  request(PMC(0), pool, 4096);
  CHECK(request(PMC(3), pool, 4096) == 1 && request(PMC(3), pool + 64, 8192 - 64) == 2);

  AT(int, pool) = 1;
  flush_and_tell(pool);  // one flush
  __asm__ volatile("sfence" : : : "memory");
  request(PMC(6), 0, 0);  // one fence
  AT(int, pool + 64) = 2;
  tell_and_flush(pool + 64);  // one flush
  request(PMC(6), 0, 0);
  __asm__ volatile("sfence" : : : "memory");  // one fence
  AT(int, pool + 128) = 3;
  request(PMC(5), pool + 128, 65);  // only told, of two lines
  request(PMC(6), 0, 0);
  AT(int, pool + 128) = 4;
  flush_and_tell(pool + 128);
  __asm__ volatile("movnti %1, (%0)" : : "r"(pool + 256), "r"(5L) : "memory");
  request(PMC(5), pool + 256, 8);  // a non-temporal store needs none
  request(PMC(30), "logged", 0);

  /* Understood, and nothing comes of them. */
  for (unsigned number = 17; number <= 28; ++number) request(PMC(number), pool, 64);
  powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, "value", 5);
  powercut_mark_point("inside");
  powercut_mark_end(0, "answer", 6);
  powercut_mark_begin(POWERCUT_MARK_MAINTAIN, 0, 0, "expand", 6);
  powercut_mark_end(5, 0, 0);
  request(PMC(2), pool, 4096);
  AT(int, pool) = 9;  // no longer registered
  return 0;
}
