// Instrumented functions for hooks_test.cc.
#ifndef POWERCUT_TRACER_LLVM_TESTS_HOOKS_SUBJECT_H_
#define POWERCUT_TRACER_LLVM_TESTS_HOOKS_SUBJECT_H_

#include <cstddef>
#include <cstdint>

namespace powercut::subject {

uint64_t load(const volatile uint64_t* at);
uint8_t load_byte(const volatile uint8_t* at);
void store(volatile uint64_t* at, uint64_t value);
uint64_t add(uint64_t* at, uint64_t value);
bool exchange_if(uint64_t* at, uint64_t expected, uint64_t wanted);
void copy(void* target, const void* source, size_t size);
void fill(void* target, int byte, size_t size);
void copy_text(char* target, const char* text, size_t size);    // strncpy
void append_text(char* target, const char* text, size_t most);  // strncat
struct Sixteen {
  uint64_t words[2];
};
Sixteen load_pair(const Sixteen* at);
size_t length(const char* text);
int compare(const char* a, const char* b);
int compare_bytes(const void* a, const void* b, size_t size);
int print_length(const char* text);
__attribute__((target("avx2"))) int gather_sum(const int* at, int first, int second);
uint64_t cycles();
uint64_t cycles_by_asm();
uint64_t own_stack(uint64_t value);
void loop(uint64_t times);
void flush_and_fence(const void* at);
void flush_in_asm(const void* at);
void pause(uint64_t turns);
void pause_in_asm();
void calls_externals();

}  // namespace powercut::subject
#endif  // POWERCUT_TRACER_LLVM_TESTS_HOOKS_SUBJECT_H_
