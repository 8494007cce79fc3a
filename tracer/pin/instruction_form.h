// What has to be known of an instruction before it is instrumented, beyond what Pin says and beyond
// tracer/stream/instruction.h: which stores are atomic, conditional or masked, and where a client request ends.
//
// C++11 without exceptions, RTTI or anything but plain libc calls, as everything in this folder: a Pintool is built
// with Pin's own C run-time library.
#ifndef POWERCUT_TRACER_PIN_INSTRUCTION_FORM_H_
#define POWERCUT_TRACER_PIN_INSTRUCTION_FORM_H_

#include <stdint.h>

#include "tracer/stream/instruction.h"

namespace powercut {
namespace pin {

enum class Mask : uint8_t {
  kNone,
  kElements,    // EVEX with a mask register, vmaskmov, vpmaskmov: elements whose bit is clear are not stored
  kCompressed,  // vcompress, vpcompress: the elements whose bit is set are stored one after the other
  kBytes,       // maskmovq, maskmovdqu, vmaskmovdqu: the highest bits of a register's bytes decide
};

struct InstructionForm {
  powercut_instruction decoded;
  bool nt;        // a non-temporal or direct store
  bool whole;     // movdir64b: never torn
  bool string;    // one round of a repeated string instruction
  bool locked;    // LOCK prefix, or an xchg with memory: a fence, and its store is atomic
  bool compares;  // cmpxchg and its kin: stores nothing when ZF is clear afterwards
  bool cpuid;
  bool may_request;  // xchg rbx, rbx: ends a client request if kRequestPreamble stands before it
  Mask mask;
  uint8_t mask_register;  // of Mask::kBytes: xmm or mm
  bool mask_is_mmx;
};

// The instruction at `bytes`, of which `available` can be read.
InstructionForm form_of(const uint8_t* bytes, uint32_t available);

// Valgrind's client requests (valgrind.h) as programs carry them, mark.h among them: rax holds the address of the
// arguments, rdx the answer. This stands before the xchg rbx, rbx and leaves rdi as it was.
constexpr uint32_t kRequestPreambleSize = 16;
extern const uint8_t kRequestPreamble[kRequestPreambleSize];

// A flush's address from its operand and the values of the registers in it (0 for those that it has not).
// `next` is the address of the next instruction.
uint64_t flush_address(const powercut_instruction& flush, uint64_t base, uint64_t index, uint64_t segment_base,
                       uint64_t next);

// EBX of CPUID leaf 7, with clwb and clflushopt shown: programs that ask which flush there is take the path that they
// take on real hardware. The instructions themselves are not executed, so it does not matter what this CPU knows.
uint32_t shown_features(uint32_t leaf, uint32_t subleaf, uint32_t ebx);

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_INSTRUCTION_FORM_H_
