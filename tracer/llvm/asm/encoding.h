// Persistency instructions that are spelled out as bytes, e.g. `.byte 0x66, 0x0f, 0xae, 0x30` for clwb (%rax).
#ifndef POWERCUT_TRACER_LLVM_ASM_ENCODING_H_
#define POWERCUT_TRACER_LLVM_ASM_ENCODING_H_

#include <cstdint>
#include <optional>
#include <span>

#include "tracer/llvm/asm/decode.h"

namespace powercut::pass {

// Decodes a whole sequence of encodings; nothing when any of it is something else. lfence gives no action.
std::optional<std::vector<AsmAction>> decode_bytes(std::span<const uint8_t> bytes);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_ASM_ENCODING_H_
