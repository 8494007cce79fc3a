// Intel SDM volume 2: the group 0F AE. With a memory operand /7 is clflush (66: clflushopt) and 66 /6 is clwb;
// with mod = 3, without 66, /5 is lfence, /6 mfence and /7 sfence.
#include "tracer/llvm/asm/encoding.h"

#include <array>
#include <string>

#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

constexpr std::array<const char*, 16> kRegisters = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool done() const { return at_ == bytes_.size(); }
  std::optional<uint8_t> next() { return done() ? std::nullopt : std::optional(bytes_[at_++]); }
  bool take(uint8_t wanted) {
    if (done() || bytes_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  // REX.B, the only bit of a REX prefix that matters to a base register without an index.
  std::optional<uint8_t> take_rex() {
    if (done() || (bytes_[at_] & 0xF0) != 0x40) return std::nullopt;
    return bytes_[at_++];
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// Memory operands [register], [register + disp8] and [register + disp32]; no index, no rip.
std::optional<AsmAddress> decode_address(Cursor* cursor, uint8_t modrm, uint8_t rex) {
  const int mode = modrm >> 6;
  const int rm = modrm & 7;
  if (rm == 4 || (mode == 0 && rm == 5)) return std::nullopt;
  AsmAddress address;
  address.reg = kRegisters[rm | ((rex & 1) << 3)];
  const int displacement_bytes = mode == 0 ? 0 : mode == 1 ? 1 : 4;
  uint32_t raw = 0;
  for (int i = 0; i < displacement_bytes; ++i) {
    const std::optional<uint8_t> byte = cursor->next();
    if (!byte) return std::nullopt;
    raw |= static_cast<uint32_t>(*byte) << (8 * i);
  }
  address.displacement = mode == 1 ? static_cast<int8_t>(raw) : static_cast<int32_t>(raw);
  return address;
}

}  // namespace

std::optional<std::vector<AsmAction>> decode_bytes(std::span<const uint8_t> bytes) {
  std::vector<AsmAction> actions;
  Cursor cursor(bytes);
  while (!cursor.done()) {
    if (cursor.take(0x90)) continue;  // nop
    if (cursor.take(0xF3)) {
      if (!cursor.take(0x90)) return std::nullopt;
      actions.push_back({.effect = AsmEffect::kPause});
      continue;
    }
    const bool wide = cursor.take(0x66);
    const uint8_t rex = cursor.take_rex().value_or(0);
    if (!cursor.take(0x0F) || !cursor.take(0xAE)) return std::nullopt;
    const std::optional<uint8_t> modrm = cursor.next();
    if (!modrm) return std::nullopt;
    const int reg = (*modrm >> 3) & 7;
    AsmAction action;
    if (*modrm >> 6 == 3) {
      if (wide || reg < 5) return std::nullopt;
      if (reg == 5) continue;
      action.effect = AsmEffect::kFence;
      action.code = reg == 6 ? POWERCUT_MFENCE : POWERCUT_SFENCE;
    } else {
      if (reg != 7 && !(wide && reg == 6)) return std::nullopt;
      action.effect = AsmEffect::kFlush;
      action.code = reg == 6 ? POWERCUT_CLWB : wide ? POWERCUT_CLFLUSHOPT : POWERCUT_CLFLUSH;
      const std::optional<AsmAddress> address = decode_address(&cursor, *modrm, rex);
      if (!address) return std::nullopt;
      action.address = *address;
    }
    actions.push_back(action);
  }
  return actions;
}

}  // namespace powercut::pass
