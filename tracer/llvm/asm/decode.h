// The effect of an inline-assembly template on memory, in terms of its operands. No LLVM here: asm_call.cc maps
// operands to IR values.
//
// Decoded: clwb, clflushopt, clflush and their .byte spellings (`.byte 0x66` before clflush or xsaveopt, which
// published code uses for assemblers that do not know the new names; and complete encodings), sfence, mfence,
// lock-prefixed and xchg read-modify-writes, movnti and the other non-temporal moves, plain moves, and `pause` (also as
// `rep; nop`). All else that may write memory is `kOpaque`.
#ifndef POWERCUT_TRACER_LLVM_ASM_DECODE_H_
#define POWERCUT_TRACER_LLVM_ASM_DECODE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace powercut::pass {

// How an operand appears in the text.
enum class OperandKind {
  kRegister,   // a register that holds a value; `(%0)` and `%a0` make it an address
  kMemory,     // a memory operand: the text names the memory itself
  kAddress,    // constraint "p": prints as an address
  kImmediate,  // a constant
};

// operand or register + index * scale + displacement.
struct AsmAddress {
  int operand = -1;     // base: number of an operand, or -1
  bool memory = false;  // the base operand is kMemory: its own address
  std::string reg{};    // base: a register that the text names ("rax"), when operand is -1
  int index = -1;       // number of an operand, or -1
  int64_t scale = 1;
  int64_t displacement = 0;
};

struct AsmValue {
  int operand = -1;
  std::string reg{};     // a register that the text names
  int64_t constant = 0;  // when neither
};

enum class AsmEffect { kFlush, kFence, kStore, kLoad, kLockedModify, kPause, kOpaque };

struct AsmAction {
  AsmEffect effect{};
  uint32_t code = 0;           // flush kind, fence kind, or flags of a store (hooks.h)
  AsmAddress address{};        // all but fences and pauses
  AsmValue value{};            // stores
  uint64_t size = 0;           // bytes; 0: as the operand's type says
  bool may_not_store = false;  // cmpxchg
};

// The actions, in order. Instructions without an effect on memory give none.
std::vector<AsmAction> decode_asm(std::string_view text, bool intel, std::span<const OperandKind> operands);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_ASM_DECODE_H_
