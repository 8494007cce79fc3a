/* Decodes the x86-64 instructions that matter for persistence and that Valgrind's intermediate form does not tell
 * apart or does not know: flushes with their memory operand, fences, non-temporal stores, string instructions.
 * Plain C without a C library. Bytes are only ever looked at where an instruction begins: data is never searched. */
#ifndef POWERCUT_TRACER_STREAM_INSTRUCTION_H_
#define POWERCUT_TRACER_STREAM_INSTRUCTION_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kPowercutLongestInstruction = 15 };

enum powercut_instruction_kind {
  kPowercutInsnOther = 0, /* including what is not decoded at all: no length then */
  kPowercutInsnClwb = 1,  /* the flushes have the numbers of the stream's kinds */
  kPowercutInsnClflushopt = 2,
  kPowercutInsnClflush = 3,
  kPowercutInsnSfence,
  kPowercutInsnMfence,
  kPowercutInsnLfence,
  kPowercutInsnNtStore,     /* movnti, movntq, movntdq, movntps, movntpd, maskmovq, maskmovdqu; SSE, AVX and AVX-512 */
  kPowercutInsnStringStore, /* rep movs, rep stos */
};

/* Registers of an address: the numbers of the machine (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15).
 */
enum { kPowercutNoRegister = 16, kPowercutRip = 17 };
enum { kPowercutSegmentNone = 0, kPowercutSegmentFs = 1, kPowercutSegmentGs = 2 };

typedef struct powercut_instruction {
  uint8_t kind;   /* powercut_instruction_kind */
  uint8_t length; /* of a flush; 0 for all others */
  /* A flush's operand: segment base + truncate(base + (index << shift) + displacement). With kPowercutRip the base is
   * the address of the next instruction. */
  uint8_t base, index, shift, segment;
  uint8_t narrow; /* truncated to 32 bits */
  int32_t displacement;
} powercut_instruction;

/* The instruction at `bytes`, of which `available` can be read. */
powercut_instruction powercut_decode(const uint8_t* bytes, uint32_t available);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_INSTRUCTION_H_ */
