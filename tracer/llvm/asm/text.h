// The text of an inline-assembly template, cut into instructions. No LLVM here; decode.h tells the effects of
// instructions.
#ifndef POWERCUT_TRACER_LLVM_ASM_TEXT_H_
#define POWERCUT_TRACER_LLVM_ASM_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace powercut::pass {

struct AsmInstruction {
  std::vector<std::string> prefixes;  // "lock", "rep", "data16"
  std::string mnemonic;               // empty: only `bytes`, or only prefixes
  std::vector<std::string> operands;  // trimmed, in the order of the text
  std::vector<uint8_t> bytes;         // .byte directives right before it
  bool label = false;                 // something may jump here
};

// Lower-cases, drops comments, chooses the dialect's side of `$(att$|intel$)`, and splits at new lines and ';'. Joins
// prefixes and .byte directives to the instruction that follows, however they were separated.
std::vector<AsmInstruction> split_asm(std::string_view text, bool intel);

// A decimal or 0x number with an optional sign.
bool parse_number(std::string_view text, int64_t* number);
std::string_view trim(std::string_view text);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_ASM_TEXT_H_
