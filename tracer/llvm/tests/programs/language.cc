// flags: -std=c++20
// Control flow that instrumentation could break: guaranteed tail calls, setjmp, computed goto, asm goto,
// variable-length stack objects, variadic functions, irreducible loops, switch-heavy loops.
#include <alloca.h>
#include <setjmp.h>

#include <cstdarg>
#include <cstring>

#include "pool.h"

namespace {

[[gnu::noinline]] int tail_target(char* pool, int value) {
  *AT(int, 8) = value;
  return value;
}
[[gnu::noinline]] int tail_caller(char* pool, int value) {
  *AT(int, 12) = value;
  [[clang::musttail]] return tail_target(pool, value + 1);
}

[[gnu::noinline]] void variadic(char* pool, int count, ...) {
  va_list rest;
  va_start(rest, count);
  for (int i = 0; i < count; ++i) *AT(int, 16 + 4 * i) = va_arg(rest, int);
  va_end(rest);
}

[[gnu::noinline]] void variable_size(char* pool, int size) {
  char* local = static_cast<char*>(alloca(static_cast<size_t>(size)));
  std::memset(local, 7, static_cast<size_t>(size));
  BARRIER();
  std::memcpy(pool + 32, local, static_cast<size_t>(size));
}

[[gnu::noinline]] void jumps(char* pool, int first) {
  static const void* const kLabels[] = {&&one, &&two, &&done};
  int at = first;
  goto* kLabels[at];
one:
  *AT(int, 64) = at;
  goto* kLabels[++at];
two:
  *AT(int, 68) = at;
  goto* kLabels[++at];
done:
  *AT(int, 72) = at;
}

[[gnu::noinline]] void asm_jump(char* pool, int zero) {
  asm goto("test %0, %0\n\tjz %l1" : : "r"(zero) : "cc" : is_zero);
  *AT(int, 76) = 1;
is_zero:
  *AT(int, 80) = 2;
}

[[gnu::noinline]] void irreducible(char* pool, int start) {
  int i = start;
  if (start > 0) goto middle;
top:
  *AT(int, 84) = i;
middle:
  if (++i < 3) goto top;
}

jmp_buf back;

[[gnu::noinline]] void leaves(char* pool) {
  *AT(int, 88) = 1;
  longjmp(back, 1);
}

}  // namespace

void run(char* pool) {
  tail_caller(pool, 5);
  variadic(pool, 3, 10, 20, 30);
  variable_size(pool, 9);
  jumps(pool, 0);
  asm_jump(pool, 0);
  irreducible(pool, 1);
  if (setjmp(back) == 0) leaves(pool);
  *AT(int, 92) = 2;
}
