/* Decodes the x86-64 instructions that matter for persistence and that a host of a binary tracer (Valgrind, Pin) does
 * not tell apart: flushes with their operand, fences, non-temporal, locked, masked and string stores, client requests.
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
  kPowercutInsnNtStore,     /* movnti, movntq, movntdq, movntps, movntpd, maskmovq, maskmovdqu; SSE, AVX and AVX-512;
                               the direct stores movdiri and movdir64b */
  kPowercutInsnStringStore, /* rep movs, rep stos */
};

/* Registers of an address: the numbers of the machine (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15).
 */
enum { kPowercutNoRegister = 16, kPowercutRip = 17 };
enum { kPowercutSegmentNone = 0, kPowercutSegmentFs = 1, kPowercutSegmentGs = 2 };

/* The parts of its memory operand that a store leaves alone. */
enum powercut_store_mask {
  kPowercutMaskNone,
  kPowercutMaskElements,   /* EVEX with a mask register, vmaskmov, vpmaskmov: elements whose bit is clear */
  kPowercutMaskCompressed, /* vcompress, vpcompress: the elements whose bit is set are stored one after the other */
  kPowercutMaskBytes       /* maskmovq, maskmovdqu, vmaskmovdqu: the highest bits of a register's bytes decide */
};

typedef struct powercut_instruction {
  uint8_t kind;   /* powercut_instruction_kind */
  uint8_t length; /* of a flush; 0 for all others */
  /* A flush's operand: segment base + truncate(base + (index << shift) + displacement). With kPowercutRip the base is
   * the address of the next instruction. */
  uint8_t base, index, shift, segment;
  uint8_t narrow; /* truncated to 32 bits */
  int32_t displacement;
  uint8_t whole;    /* movdir64b: never torn */
  uint8_t locked;   /* LOCK prefix, or an xchg with memory: a fence, and the store is atomic */
  uint8_t compares; /* cmpxchg and its kin: stores nothing when ZF is clear afterwards */
  uint8_t cpuid;
  uint8_t may_request;   /* xchg rbx, rbx: ends a client request behind the bytes of powercut_is_request() */
  uint8_t mask;          /* powercut_store_mask */
  uint8_t mask_register; /* of kPowercutMaskBytes: xmm or mm */
  uint8_t mask_is_mmx;
} powercut_instruction;

/* Returns the instruction at `bytes`. `available` bytes can be read there. */
powercut_instruction powercut_decode(const uint8_t* bytes, uint32_t available);

/* Returns the address of a flush, from its operand and the values of the operand's registers (0 for a register that
 * the operand lacks). `next` is the address of the next instruction. */
uint64_t powercut_flush_address(const powercut_instruction* flush, uint64_t base, uint64_t index, uint64_t segment_base,
                                uint64_t next);

/* Returns EBX of CPUID leaf 7 with clwb and clflushopt shown. A program that asks for the processor's flushes then
 * takes the path that it takes on real hardware. No host executes the flushes, so the processor need not know them. */
uint32_t powercut_shown_features(uint32_t leaf, uint32_t subleaf, uint32_t ebx);

/* Whether these bytes begin one of Valgrind's client requests (valgrind.h), such as those of mark.h. In a request, rax
 * holds the address of the arguments and rdx the answer. The bytes stand before the xchg rbx, rbx and leave rdi as it
 * was.
 */
enum { kPowercutRequestSize = 16 };
int powercut_is_request(const uint8_t bytes[kPowercutRequestSize]);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_INSTRUCTION_H_ */
