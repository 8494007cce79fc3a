#include "tracer/llvm/asm/decode.h"

#include <algorithm>
#include <array>

#include "tracer/llvm/asm/encoding.h"
#include "tracer/llvm/asm/operand.h"
#include "tracer/llvm/asm/text.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

template <size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The base of a mnemonic with an optional size suffix ("addq": 8), or 0 when it is not of these; size 0 when
// the suffix is missing.
template <size_t N>
bool match_sized(std::string_view word, const std::array<std::string_view, N>& bases, uint64_t* size) {
  *size = 0;
  if (one_of(word, bases)) return true;
  if (word.empty() || !one_of(word.substr(0, word.size() - 1), bases)) return false;
  switch (word.back()) {
    case 'b':
      *size = 1;
      return true;
    case 'w':
      *size = 2;
      return true;
    case 'l':
      *size = 4;
      return true;
    case 'q':
      *size = 8;
      return true;
    default:
      return false;
  }
}

constexpr std::array<std::string_view, 16> kLockable = {"add", "sub", "and", "or",   "xor", "inc", "dec", "neg",
                                                        "not", "adc", "sbb", "xadd", "bts", "btr", "btc", "cmpxchg"};
constexpr std::array<std::string_view, 1> kExchange = {"xchg"};
constexpr std::array<std::string_view, 2> kMove = {"mov", "movabs"};
constexpr std::array<std::string_view, 12> kVectorMove = {"movdqa",  "movdqu",  "movaps",  "movups",
                                                          "movapd",  "movupd",  "vmovdqa", "vmovdqu",
                                                          "vmovaps", "vmovups", "vmovapd", "vmovupd"};
constexpr std::array<std::string_view, 4> kEvexMove = {"vmovdqa32", "vmovdqa64", "vmovdqu32", "vmovdqu64"};
constexpr std::array<std::string_view, 1> kDirectMove = {"movdiri"};
constexpr std::array<std::string_view, 1> kNtScalar = {"movnti"};
constexpr std::array<std::string_view, 6> kNtVector = {"movntdq",  "movntps",  "movntpd",
                                                       "vmovntdq", "vmovntps", "vmovntpd"};
// No effect that the checker knows of: hints, barriers for loads, registers only.
constexpr std::array<std::string_view, 12> kNothing = {"nop",     "lfence",   "cpuid",      "rdtsc", "rdtscp", "xgetbv",
                                                       "endbr64", "cldemote", "vzeroupper", "cld",   "std",    "emms"};
// Touch memory that no operand names, or leave the assembly.
constexpr std::array<std::string_view, 26> kImplicit = {
    "movsb", "movsw", "movsl",   "movsq",    "movsd", "stosb", "stosw", "stosl", "stosq",
    "stosd", "lodsb", "lodsq",   "push",     "pushq", "pushf", "pop",   "popq",  "popf",
    "call",  "callq", "syscall", "sysenter", "int",   "ret",   "insb",  "outsb"};

class Decoder {
 public:
  Decoder(bool intel, std::span<const OperandKind> operands) : intel_(intel), operands_(operands) {}

  void add(const AsmInstruction& instruction);
  std::vector<AsmAction> take() { return std::move(actions_); }

 private:
  void add_flush(const AsmInstruction& instruction, uint32_t kind);
  void add_locked(const AsmInstruction& instruction, uint64_t size, const std::string& memory);
  void add_move(const AsmInstruction& instruction, uint64_t size, uint32_t flags);
  void add_other(const AsmInstruction& instruction);
  void add_fence(uint32_t kind) { actions_.push_back({.effect = AsmEffect::kFence, .code = kind}); }
  void add_opaque() { actions_.push_back({.effect = AsmEffect::kOpaque}); }
  bool is_memory(const std::string& operand) const { return names_memory(operand, operands_); }
  // The operand that the instruction writes to: AT&T puts it last, Intel first.
  const std::string& target(const AsmInstruction& instruction) const {
    return intel_ ? instruction.operands.front() : instruction.operands.back();
  }
  void note_written(const std::string& operand);
  bool is_stale(const AsmAddress& address) const;

  const bool intel_;
  const std::span<const OperandKind> operands_;
  std::vector<AsmAction> actions_;
  // Operands and registers that the assembly changed: as bases they are not the values of the IR any more.
  std::vector<int> written_operands_;
  std::vector<std::string> written_registers_;
};

void Decoder::note_written(const std::string& operand) {
  if (is_memory(operand)) return;
  if (const auto value = parse_value(operand, operands_)) {
    if (value->operand >= 0) written_operands_.push_back(value->operand);
    if (!value->reg.empty()) written_registers_.push_back(value->reg);
  }
}

bool Decoder::is_stale(const AsmAddress& address) const {
  const auto written = [this](int operand) {
    return std::find(written_operands_.begin(), written_operands_.end(), operand) != written_operands_.end();
  };
  if (!address.memory && address.operand >= 0 && written(address.operand)) return true;
  if (address.index >= 0 && written(address.index)) return true;
  return std::find(written_registers_.begin(), written_registers_.end(), address.reg) != written_registers_.end();
}

void Decoder::add_flush(const AsmInstruction& instruction, uint32_t kind) {
  if (instruction.operands.size() == 1) {
    const auto address = parse_address(instruction.operands[0], intel_, operands_);
    if (address && !is_stale(*address)) {
      actions_.push_back({.effect = AsmEffect::kFlush, .code = kind, .address = *address});
      return;
    }
  }
  add_opaque();
}

void Decoder::add_locked(const AsmInstruction& instruction, uint64_t size, const std::string& memory) {
  const auto address = parse_address(memory, intel_, operands_);
  if (address && address->operand < 0 && (address->reg == "rsp" || address->reg == "esp")) {
    // `lock; addl $0, (%rsp)`: a fence by tradition.
    add_fence(POWERCUT_RMW_FENCE);
    return;
  }
  if (!address || is_stale(*address)) {
    add_fence(POWERCUT_RMW_FENCE);
    add_opaque();
    return;
  }
  AsmAction action{.effect = AsmEffect::kLockedModify, .address = *address, .size = size};
  action.may_not_store = instruction.mnemonic.starts_with("cmpxchg");
  actions_.push_back(action);
}

void Decoder::add_move(const AsmInstruction& instruction, uint64_t size, uint32_t flags) {
  if (instruction.operands.size() != 2) return add_opaque();
  const std::string& to = target(instruction);
  const std::string& from = intel_ ? instruction.operands[1] : instruction.operands[0];
  if (is_memory(to)) {
    const auto address = parse_address(to, intel_, operands_);
    const auto value = parse_value(from, operands_);
    if (!address || !value || is_stale(*address) || is_stale({.operand = value->operand, .reg = value->reg})) {
      return add_opaque();
    }
    actions_.push_back(
        {.effect = AsmEffect::kStore, .code = flags, .address = *address, .value = *value, .size = size});
  } else if (is_memory(from)) {
    const auto address = parse_address(from, intel_, operands_);
    if (!address || is_stale(*address)) return add_opaque();
    actions_.push_back({.effect = AsmEffect::kLoad, .address = *address, .size = size});
  }
}

// An instruction without a rule of its own: it matters only if it writes memory.
void Decoder::add_other(const AsmInstruction& instruction) {
  if (one_of(instruction.mnemonic, kImplicit) || instruction.mnemonic.starts_with("xsave") ||
      instruction.mnemonic.starts_with("fxsave") || instruction.mnemonic.starts_with("maskmov") ||
      instruction.mnemonic == ".byte" || instruction.mnemonic.starts_with("rep")) {
    return add_opaque();
  }
  if (instruction.operands.empty() || instruction.mnemonic.starts_with('.')) return;
  const bool compares = instruction.mnemonic.starts_with("cmp") || instruction.mnemonic.starts_with("test");
  if (is_memory(target(instruction)) && !compares) return add_opaque();
  for (const std::string& operand : instruction.operands) {
    if (!is_memory(operand)) continue;
    const auto address = parse_address(operand, intel_, operands_);
    if (!address || is_stale(*address)) {
      add_opaque();
    } else if (!instruction.mnemonic.starts_with("lea")) {
      actions_.push_back({.effect = AsmEffect::kLoad, .address = *address});
    }
  }
}

void Decoder::add(const AsmInstruction& instruction) {
  std::string_view mnemonic = instruction.mnemonic;
  const auto has_prefix = [&instruction](std::string_view prefix) {
    return std::find(instruction.prefixes.begin(), instruction.prefixes.end(), prefix) != instruction.prefixes.end();
  };
  const bool locked = has_prefix("lock");
  bool data16 = has_prefix("data16");
  if (!instruction.bytes.empty()) {
    // A lone 0x66 is the prefix of what follows; anything else must be whole instructions.
    std::vector<uint8_t> bytes = instruction.bytes;
    if (bytes.back() == 0x66 && !mnemonic.empty()) {
      data16 = true;
      bytes.pop_back();
    }
    const auto decoded = decode_bytes(bytes);
    if (!decoded) return add_opaque();
    for (const AsmAction& action : *decoded) {
      if (action.effect == AsmEffect::kFlush && is_stale(action.address)) return add_opaque();
      actions_.push_back(action);
    }
  }
  uint64_t size = 0;
  if (mnemonic.empty()) {
    if (locked) add_opaque();  // `lock` before something that is not in the text
  } else if (mnemonic == "clwb" || (mnemonic == "xsaveopt" && data16)) {
    add_flush(instruction, POWERCUT_CLWB);
  } else if (mnemonic == "clflushopt" || (mnemonic == "clflush" && data16)) {
    add_flush(instruction, POWERCUT_CLFLUSHOPT);
  } else if (mnemonic == "clflush") {
    add_flush(instruction, POWERCUT_CLFLUSH);
  } else if (mnemonic == "sfence") {
    add_fence(POWERCUT_SFENCE);
  } else if (mnemonic == "mfence") {
    add_fence(POWERCUT_MFENCE);
  } else if (mnemonic == "pause" || (mnemonic == "nop" && (has_prefix("rep") || has_prefix("repz")))) {
    actions_.push_back({.effect = AsmEffect::kPause});
  } else if (one_of(mnemonic, kNothing) || mnemonic.starts_with("prefetch")) {
    // Nothing that is recorded.
  } else if (mnemonic == "cmpxchg16b" || mnemonic == "cmpxchg8b") {
    if (!locked || instruction.operands.size() != 1) return add_opaque();
    add_locked(instruction, mnemonic == "cmpxchg16b" ? 16 : 8, instruction.operands[0]);
  } else if (match_sized(mnemonic, kExchange, &size) && instruction.operands.size() == 2) {
    // Locked with or without the prefix, when it names memory; either side may.
    const bool first = is_memory(instruction.operands[0]);
    if (first || is_memory(instruction.operands[1])) add_locked(instruction, size, instruction.operands[first ? 0 : 1]);
  } else if (locked && match_sized(mnemonic, kLockable, &size) && !instruction.operands.empty()) {
    add_locked(instruction, size, target(instruction));
  } else if (locked) {
    add_fence(POWERCUT_RMW_FENCE);
    add_opaque();
  } else if (match_sized(mnemonic, kNtScalar, &size) || match_sized(mnemonic, kDirectMove, &size) ||
             one_of(mnemonic, kNtVector)) {
    add_move(instruction, size, POWERCUT_STORE_NT);
  } else if (match_sized(mnemonic, kMove, &size) || one_of(mnemonic, kVectorMove) || one_of(mnemonic, kEvexMove)) {
    add_move(instruction, size, 0);
  } else {
    add_other(instruction);
  }
  for (const std::string& operand : instruction.operands) {
    if (&operand == &target(instruction) || mnemonic.starts_with("xadd") || mnemonic.starts_with("xchg")) {
      note_written(operand);
    }
  }
}

}  // namespace

std::vector<AsmAction> decode_asm(std::string_view text, bool intel, std::span<const OperandKind> operands) {
  const std::vector<AsmInstruction> instructions = split_asm(text, intel);
  Decoder decoder(intel, operands);
  bool branches = false;
  for (const AsmInstruction& instruction : instructions) {
    decoder.add(instruction);
    branches |= instruction.label || instruction.mnemonic.starts_with('j') || instruction.mnemonic.starts_with("loop");
  }
  std::vector<AsmAction> actions = decoder.take();
  if (branches) std::erase_if(actions, [](const AsmAction& action) { return action.effect == AsmEffect::kPause; });
  // With jumps nobody knows how often, or whether, each instruction runs.
  if (branches && !actions.empty()) return {{.effect = AsmEffect::kOpaque}};
  return actions;
}

}  // namespace powercut::pass
