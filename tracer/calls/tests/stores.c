/* Stores through a shared mapping, whose order a tracer of instructions must tell (test_valgrind.py). */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int file;
static volatile char* memory;
static volatile int stored, synced;

/* The store is told before the sync of the other thread. */
static void* in_thread(void* unused) {
  fdatasync(file);
  memory[1] = 't';
  stored = 1;
  while (!synced) {
  }
  return unused;
}

int main(void) {
  pthread_t other;
  file = open("a", O_RDWR | O_CREAT, 0644);
  if (ftruncate(file, 8192) != 0) return 1;
  memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  memory[600] = 'y'; /* first */
  memory[0] = 'x';   /* second */
  memory[0] = 'z';
  fdatasync(file); /* sync */
  pthread_create(&other, NULL, in_thread, NULL);
  while (!stored) {
  }
  fdatasync(file);
  synced = 1;
  pthread_join(other, NULL);
  if (fork() == 0) {
    memory[2] = 'c';
    _exit(0);
  }
  wait(NULL);
  memory = mremap((void*)memory, 8192, 4096, 0);
  memory[3] = 'm';
  if (pread(file, (void*)(memory + 10), 2, 600) != 2) return 2; /* the kernel stores */
  __atomic_fetch_add((int*)(memory + 16), 1, __ATOMIC_SEQ_CST);
  munmap((void*)memory, 4096);
  const int small = open("b", O_RDWR | O_CREAT, 0644);
  if (ftruncate(small, 100) != 0) return 1;
  memory = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, small, 0);
  *(volatile long*)(memory + 96) = 0x5857565554535251; /* half of it behind the end */
  memory[200] = 'n';
  return 0;
}
