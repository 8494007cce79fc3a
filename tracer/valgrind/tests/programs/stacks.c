/* Stores from functions on a stack that the program makes; one function lies in a section of its own. argv[2] says
 * whether the stack lies above the thread's own stack. */
#include <ucontext.h>

#include "pool.h"

enum { kSize = 65536 };

static char* pool;
static ucontext_t back, there;

__attribute__((noinline)) static void inner(void) { AT(int, pool) = 1; }

/* Some libraries have such a section for code that is rarely needed. */
__attribute__((section("other_text"))) static void outer(void) {
  char room[1024]; /* the core does not look at the last 512 bytes of a stack */
  __asm__ volatile("" : : "r"(room) : "memory");
  inner();
  AT(int, pool + 64) = 2;
}

int main(int argc, char** argv) {
  (void)argc;
  pool = map(open_file(argv[1], 4096), 4096, 0);
  char* const hint = strcmp(argv[2], "above") == 0 ? (char*)0xc000000000 : (char*)0x100000000;
  char* const stack = mmap(hint, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  CHECK(stack == hint && ((char*)&argc < stack) == (strcmp(argv[2], "above") == 0));
  CHECK(getcontext(&there) == 0);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kSize;
  there.uc_link = &back;
  makecontext(&there, outer, 0);
  CHECK(swapcontext(&back, &there) == 0);
  return 0;
}
