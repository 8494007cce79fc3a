// A whole `rep movs` or `rep stos`, done at once in place of its processor: the bytes that the instruction moves or
// fills, and where its registers stand after it.
#ifndef POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_REPEATED_ACCESS_H_
#define POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_REPEATED_ACCESS_H_

#include <ucontext.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <span>

#include "tracer/runtime/instructions/trapped_access.h"

namespace powercut {

class RepeatedAccess {
 public:
  uint64_t target = 0, source = 0;  // addresses
  uint64_t size = 0;                // bytes of all turns
  bool moves = false;               // the instruction moves bytes; otherwise it fills

  // Returns nothing where the processor has to go turn by turn:
  // - the instruction goes downwards;
  // - an address is no operand that was decoded (with the address-size prefix the instruction goes by halves of
  //   registers);
  // - the instruction moves some bytes twice.
  static std::optional<RepeatedAccess> of(const TrappedAccess& access, const greg_t* registers) {
    constexpr greg_t kDirectionFlag = 0x400;
    const auto value = [&](int number) { return static_cast<uint64_t>(registers[number]); };
    const auto is_operand = [&](uint64_t address) {
      return std::ranges::any_of(std::span(access.ranges).first(access.count),
                                 [&](const TrappedAccess::Range& range) { return range.address == address; });
    };
    RepeatedAccess out;
    const uint64_t turns = value(REG_RCX);
    out.target = value(REG_RDI);
    out.source = value(REG_RSI);
    out.size = turns * access.element;
    out.moves = access.kind == TrappedAccess::Kind::kRepeatedMove;
    if ((registers[REG_EFL] & kDirectionFlag) != 0 || turns == 0 || out.size / access.element != turns) return {};
    if (!is_operand(out.target) || (out.moves && !is_operand(out.source))) return {};
    if (out.moves && out.target - out.source < out.size) return {};
    return out;
  }

  // Writes the bytes of a fill to `to`.
  void fill(const TrappedAccess& access, const greg_t* registers, uint8_t* to) const {
    const auto word = static_cast<uint64_t>(registers[REG_RAX]);
    for (uint64_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(word >> i % access.element * CHAR_BIT);
  }

  // Sets the registers as they are after the instruction.
  void finish(const TrappedAccess& access, greg_t* registers) const {
    registers[REG_RDI] += static_cast<greg_t>(size);
    if (moves) registers[REG_RSI] += static_cast<greg_t>(size);
    registers[REG_RCX] = 0;
    registers[REG_RIP] += access.length;
  }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_REPEATED_ACCESS_H_
