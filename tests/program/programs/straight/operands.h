/* Instructions with an operand in memory, one after the other by a number: eight operations of four sizes in both
 * directions, loads that widen, constants, and some more. Register and processor flags after an instruction are one
 * value. */
#ifndef OPERANDS_H_
#define OPERANDS_H_

#include <stdint.h>

enum { kFirstWithoutFlags = 81 };

#define CASE(number, text)                                                     \
  case number:                                                                 \
    __asm__ volatile("xorl %%ecx, %%ecx\n\t" text                              \
                     "\n\t"                                                    \
                     "lahf\n\tseto %%al"                                       \
                     : "+r"(value), "=&a"(flags), "+m"(*memory)::"rcx", "cc"); \
    break
#define SIZES(number, name)             \
  CASE(number, name "b %2, %b0");       \
  CASE((number) + 1, name "w %2, %w0"); \
  CASE((number) + 2, name "l %2, %k0"); \
  CASE((number) + 3, name "q %2, %q0"); \
  CASE((number) + 4, name "b %b0, %2"); \
  CASE((number) + 5, name "w %w0, %2"); \
  CASE((number) + 6, name "l %k0, %2"); \
  CASE((number) + 7, name "q %q0, %2")

static inline uint64_t operated(uint64_t number, uint64_t value, void* at) {
  uint64_t* const memory = at;
  uint64_t flags = 0;
  switch (number) {
    SIZES(0, "mov");
    SIZES(8, "add");
    SIZES(16, "sub");
    SIZES(24, "and");
    SIZES(32, "or");
    SIZES(40, "xor");
    SIZES(48, "cmp");
    SIZES(56, "test");
    CASE(64, "movzbw %2, %w0");
    CASE(65, "movzbl %2, %k0");
    CASE(66, "movzbq %2, %q0");
    CASE(67, "movzwl %2, %k0");
    CASE(68, "movzwq %2, %q0");
    CASE(69, "movsbw %2, %w0");
    CASE(70, "movsbl %2, %k0");
    CASE(71, "movsbq %2, %q0");
    CASE(72, "movswl %2, %k0");
    CASE(73, "movswq %2, %q0");
    CASE(74, "movslq %2, %q0");
    CASE(75, "cmpq $-3, %2");
    CASE(76, "addl $-1, %2");
    CASE(77, "testb $0x81, %2");
    CASE(78, "movq $-2, %2");
    CASE(79, "subw $0x1234, %2");
    CASE(80, "orb $0x40, %2");
    CASE(81, "incb %2");
    CASE(82, "notl %2");
    CASE(83, "imulq %2, %q0");
    CASE(84, "shlq $3, %2");
    CASE(85, "xaddq %q0, %2");
    CASE(86, "rolw $5, %2");
    CASE(87, "negw %2");
    default:
      break;
  }
  if (number >= kFirstWithoutFlags) return value;
  /* Sign, zero, parity and carry, as lahf puts them; overflow in a place that it leaves free. */
  return value ^ ((flags >> 8 & 0xc5) | (flags & 1) << 1) << 48;
}

#endif /* OPERANDS_H_ */
