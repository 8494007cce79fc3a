#include "tracer/llvm/tests/hooks_subject.h"

#include <immintrin.h>

#include <cstdio>
#include <cstring>

// Neither defined in an instrumented module nor harmless; weak, so that nothing has to define it.
extern "C" __attribute__((weak)) void an_unknown_function(void*);

namespace powercut::subject {

uint64_t load(const volatile uint64_t* at) { return *at; }
uint8_t load_byte(const volatile uint8_t* at) { return *at; }
void store(volatile uint64_t* at, uint64_t value) { *at = value; }
uint64_t add(uint64_t* at, uint64_t value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }

bool exchange_if(uint64_t* at, uint64_t expected, uint64_t wanted) {
  return __atomic_compare_exchange_n(at, &expected, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void copy(void* target, const void* source, size_t size) { memcpy(target, source, size); }
void fill(void* target, int byte, size_t size) { memset(target, byte, size); }
void copy_text(char* target, const char* text, size_t size) { strncpy(target, text, size); }
void append_text(char* target, const char* text, size_t most) { strncat(target, text, most); }
Sixteen load_pair(const Sixteen* at) { return *at; }
size_t length(const char* text) { return strlen(text); }
int compare(const char* a, const char* b) { return strcmp(a, b); }
int compare_bytes(const void* a, const void* b, size_t size) { return memcmp(a, b, size); }

int print_length(const char* text) {
  char line[64];
  return snprintf(line, sizeof line, "%d %.3s", 1, text);
}

__attribute__((target("avx2"))) int gather_sum(const int* at, int first, int second) {
  const __m128i mask = _mm_set_epi32(0, 0, -1, -1);
  const __m128i index = _mm_set_epi32(0, 0, second, first);
  const __m128i found = _mm_mask_i32gather_epi32(_mm_setzero_si128(), at, index, mask, 4);
  return _mm_extract_epi32(found, 0) + _mm_extract_epi32(found, 1);
}

uint64_t cycles() { return __rdtsc(); }
uint64_t cycles_by_asm() {
  uint32_t low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return uint64_t{high} << 32 | low;
}

uint64_t own_stack(uint64_t value) {
  volatile uint64_t words[4];
  words[1] = value;
  return words[1];
}

void loop(uint64_t times) {
  for (uint64_t i = 0; i < times; ++i) asm volatile("");
}

void flush_and_fence(const void* at) {
  _mm_clflush(at);
  _mm_sfence();
}

void flush_in_asm(const void* at) { asm volatile("clflush (%0)\n\tsfence" ::"r"(at) : "memory"); }

void pause(uint64_t turns) {
  for (uint64_t i = 0; i < turns; ++i) _mm_pause();
}

void pause_in_asm() { asm volatile("rep; nop" ::: "memory"); }

void calls_externals() {
  if (&an_unknown_function != nullptr) an_unknown_function(nullptr);
  asm volatile("rep movsb" ::"c"(0), "S"(0), "D"(0) : "memory");
  loop(1);
}

}  // namespace powercut::subject
