/* Keeps numbers in a file and says so, for the tests of --ack. No marks: what it prints is all that acknowledges.
 *
 *   acks memory FILE HOW   stores 1 to 6 through a mapping, with clwb and sfence
 *   acks device FILE HOW   the same by pwrite and fdatasync
 *   acks create FILE       makes the file, empty
 *   acks check FILE        status 0 when the count is one that there may be
 *   acks dump FILE         prints what the count counts
 *
 * Letters of HOW: e acknowledges before the number is durable; b leaves its output in the buffer; 2 prints after
 * every second number, for both; r prints to standard error; s prints only a part of the line at a time; m marks
 * the operations as well; t prints from another thread. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSize = 8192, kNumbers = 6, kStride = 512 };

static const char* how = "";
static int file;
static char* memory; /* NULL: a device */
static char line[64];

static int is(char letter) { return strchr(how, letter) != NULL; }

static void put(long at, uint64_t value) {
  if (memory) {
    *(volatile uint64_t*)(memory + at * kStride) = value; /* the number */
  } else if (pwrite(file, &value, sizeof value, at * kStride) != sizeof value) {
    exit(3);
  }
}

static void persist(long at) {
  if (memory) {
    __asm__ volatile("clwb %0\n\tsfence" ::"m"(memory[at * kStride]) : "memory");
  } else if (fdatasync(file) != 0) {
    exit(3);
  }
}

static uint64_t get(long at) {
  uint64_t value = 0;
  return pread(file, &value, sizeof value, at * kStride) == sizeof value ? value : 0;
}

static void* print(void* unused) {
  FILE* out = is('r') ? stderr : stdout;
  if (is('s')) {
    fwrite(line, 3, 1, out);
    fflush(out);
  }
  fputs(is('s') ? line + 3 : line, out);
  if (!is('b')) fflush(out);
  return unused;
}

static void acknowledge(int number) {
  const int both = is('2');
  if (both && number % 2 != 0) return;
  if (both) {
    snprintf(line, sizeof line, "stored %d\nand nothing else\nstored %d\n", number - 1, number);
  } else {
    snprintf(line, sizeof line, "stored %d\n", number);
  }
  pthread_t other;
  if (!is('t')) {
    print(NULL);
  } else if (pthread_create(&other, NULL, print, NULL) == 0) {
    pthread_join(other, NULL);
  }
}

static int run(void) {
  if (get(0) == 0) {
    put(0, 1); /* the count, and one */
    persist(0);
  }
  puts("ready");
  fflush(stdout);
  for (int number = 1; number <= kNumbers; ++number) {
    if (is('m')) powercut_mark_begin(POWERCUT_MARK_INSERT, NULL, 0, NULL, 0);
    put(number, 10 * number);
    persist(number);
    put(0, number + 1);
    if (is('e')) acknowledge(number);
    persist(0);
    if (!is('e')) acknowledge(number);
    if (is('m')) powercut_mark_end(0, NULL, 0);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* what = argv[1];
  if (argc > 3) how = argv[3];
  const int makes = strcmp(what, "check") != 0 && strcmp(what, "dump") != 0;
  file = open(argv[2], makes ? O_RDWR | O_CREAT : O_RDWR, 0644);
  if (file < 0) return makes ? 3 : 1;
  if (strcmp(what, "check") == 0) return get(0) > kNumbers + 1;
  if (strcmp(what, "dump") == 0) {
    for (uint64_t i = 1; i < get(0); ++i) printf("%lu\n", (unsigned long)get((long)i));
    return 0;
  }
  if (strcmp(what, "device") != 0) {
    if (ftruncate(file, kSize) != 0) return 3;
    memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 3;
  }
  if (strcmp(what, "create") == 0) {
    put(0, 1);
    persist(0);
    return 0;
  }
  return run();
}
