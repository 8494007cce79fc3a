// Operands of one assembly instruction. Private to the decoder.
#ifndef POWERCUT_TRACER_LLVM_ASM_OPERAND_H_
#define POWERCUT_TRACER_LLVM_ASM_OPERAND_H_

#include <optional>
#include <span>
#include <string_view>

#include "tracer/llvm/asm/decode.h"

namespace powercut::pass {

// `$3` or `${3:q}`; the modifier is 0 when there is none.
struct OperandReference {
  int number = -1;
  char modifier = 0;
};
std::optional<OperandReference> parse_reference(std::string_view text);

// True if the text may name memory: the conservative question.
bool names_memory(std::string_view text, std::span<const OperandKind> operands);
// The address, when the text names memory in a form that can be mapped to operands.
std::optional<AsmAddress> parse_address(std::string_view text, bool intel, std::span<const OperandKind> operands);
// A register or immediate operand.
std::optional<AsmValue> parse_value(std::string_view text, std::span<const OperandKind> operands);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_ASM_OPERAND_H_
