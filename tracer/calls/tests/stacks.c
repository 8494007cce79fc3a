/* Programs whose calls have known stacks (test_stacks.py). A line with a comment is a place that the test names. */
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define BARRIER __asm__ volatile("") /* a call at the end of a function stays a call */

static int file;
KEPT static void store(void) {
  if (write(file, "x", 1) != 1) exit(1); /* store */
  BARRIER;
}
KEPT static void first(void) {
  store(); /* first */
  BARRIER;
}
KEPT static void second(void) {
  store(); /* second */
  BARRIER;
}
/* The call has the same program counter, the same stack pointer and the same frame each time. */
KEPT static void callers(void) {
  for (int i = 0; i < 3; ++i) {
    first();
    second();
  }
  BARRIER;
}

KEPT static void shifted(size_t size) {
  volatile char* const room = alloca(size);
  room[0] = 1;
  store(); /* shifted */
  BARRIER;
}
static void sizes(void) {
  for (size_t i = 1; i <= 3; ++i) shifted(i * 4096);
}

KEPT static void deep(int depth) {
  if (depth == 0) {
    store();
  } else {
    deep(depth - 1);
  }
  BARRIER;
}
static void recursion(void) { deep(200); }

static void library(void) {
  void (*stores)(int);
  void* const loaded = dlopen(getenv("LIBRARY"), RTLD_NOW);
  if (!loaded) exit(2);
  store();
  *(void**)&stores = dlsym(loaded, "library_stores");
  stores(file);
  BARRIER;
}

static void* in_thread(void* unused) {
  first();
  return unused;
}
static void thread(void) {
  pthread_t other;
  pthread_create(&other, NULL, in_thread, NULL);
  pthread_join(other, NULL);
}

static void child(void) {
  first();
  if (fork() == 0) {
    second();
    execlp("sh", "sh", "-c", "echo y >> a", NULL);
  }
  wait(NULL);
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"callers", callers}, {"sizes", sizes},   {"recursion", recursion},
                  {"library", library}, {"thread", thread}, {"child", child}};
  file = open("a", O_WRONLY | O_CREAT | O_APPEND, 0644); /* main */
  for (size_t i = 0; count == 2 && i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(words[1], programs[i].name) == 0) programs[i].run();
  }
  return 0;
}
