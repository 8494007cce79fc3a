#include "tracer/runtime/instructions/trapped_access.h"

#include <Zydis/Zydis.h>

#include "tracer/runtime/hooks.h"

namespace powercut {
namespace {

using Kind = TrappedAccess::Kind;

constexpr uint64_t kLongest = 15;  // bytes of an instruction
constexpr uint64_t kWidest = 64;   // bytes of a vector

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

bool decode(uint64_t pc, Decoded* out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, reinterpret_cast<const void*>(pc), kLongest, &out->instruction,
                                             out->operands.data()));
}

ZydisRegisterContext registers_of(const ucontext_t& context) {
  const greg_t* from = context.uc_mcontext.gregs;
  ZydisRegisterContext out{};
  const auto set = [&](ZydisRegister to, int reg) { out.values[to] = static_cast<ZyanU64>(from[reg]); };
  set(ZYDIS_REGISTER_RAX, REG_RAX);
  set(ZYDIS_REGISTER_RCX, REG_RCX);
  set(ZYDIS_REGISTER_RDX, REG_RDX);
  set(ZYDIS_REGISTER_RBX, REG_RBX);
  set(ZYDIS_REGISTER_RSP, REG_RSP);
  set(ZYDIS_REGISTER_RBP, REG_RBP);
  set(ZYDIS_REGISTER_RSI, REG_RSI);
  set(ZYDIS_REGISTER_RDI, REG_RDI);
  set(ZYDIS_REGISTER_R8, REG_R8);
  set(ZYDIS_REGISTER_R9, REG_R9);
  set(ZYDIS_REGISTER_R10, REG_R10);
  set(ZYDIS_REGISTER_R11, REG_R11);
  set(ZYDIS_REGISTER_R12, REG_R12);
  set(ZYDIS_REGISTER_R13, REG_R13);
  set(ZYDIS_REGISTER_R14, REG_R14);
  set(ZYDIS_REGISTER_R15, REG_R15);
  // With the address-size prefix the base is the lower half of a register.
  for (int i = 0; i < 16; ++i) {
    out.values[ZYDIS_REGISTER_EAX + i] = static_cast<uint32_t>(out.values[ZYDIS_REGISTER_RAX + i]);
  }
  return out;
}

bool non_temporal(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MOVDIRI:
    case ZYDIS_MNEMONIC_MOVDIR64B:
      return true;
    default:
      return false;
  }
}

bool stores_under_a_mask(const Decoded& decoded) {
  switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
      return true;
    default:
      return decoded.instruction.avx.mask.reg != ZYDIS_REGISTER_NONE &&
             decoded.instruction.avx.mask.reg != ZYDIS_REGISTER_K0;
  }
}

// Flushes and fences, and the string instructions that move or fill.
void classify(const Decoded& decoded, TrappedAccess* out) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  const auto is = [&](Kind kind, uint32_t code) {
    out->kind = kind;
    out->code = code;
  };
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLWB:
      return is(Kind::kFlush, POWERCUT_CLWB);
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
      return is(Kind::kFlush, POWERCUT_CLFLUSHOPT);
    case ZYDIS_MNEMONIC_CLFLUSH:
      return is(Kind::kFlush, POWERCUT_CLFLUSH);
    case ZYDIS_MNEMONIC_SFENCE:
      return is(Kind::kFence, POWERCUT_SFENCE);
    case ZYDIS_MNEMONIC_MFENCE:
      return is(Kind::kFence, POWERCUT_MFENCE);
    default:
      break;
  }
  const bool repeated = (instruction.attributes & ZYDIS_ATTRIB_HAS_REP) != 0;
  const auto string = [&](Kind kind, uint64_t element) {
    out->element = element;
    if (repeated) is(kind, POWERCUT_STORE_MEMCALL);
  };
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
      return string(Kind::kRepeatedMove, 1);
    case ZYDIS_MNEMONIC_MOVSW:
      return string(Kind::kRepeatedMove, 2);
    case ZYDIS_MNEMONIC_MOVSD:
      if (instruction.meta.category == ZYDIS_CATEGORY_STRINGOP) return string(Kind::kRepeatedMove, 4);
      return;
    case ZYDIS_MNEMONIC_MOVSQ:
      return string(Kind::kRepeatedMove, 8);
    case ZYDIS_MNEMONIC_STOSB:
      return string(Kind::kRepeatedFill, 1);
    case ZYDIS_MNEMONIC_STOSW:
      return string(Kind::kRepeatedFill, 2);
    case ZYDIS_MNEMONIC_STOSD:
      return string(Kind::kRepeatedFill, 4);
    case ZYDIS_MNEMONIC_STOSQ:
      return string(Kind::kRepeatedFill, 8);
    default:
      return;
  }
}

using Simple = TrappedAccess::Simple;

Simple::Operation operation_of(ZydisMnemonic mnemonic) {
  using Operation = Simple::Operation;
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      return Operation::kMove;
    case ZYDIS_MNEMONIC_ADD:
      return Operation::kAdd;
    case ZYDIS_MNEMONIC_SUB:
      return Operation::kSubtract;
    case ZYDIS_MNEMONIC_AND:
      return Operation::kAnd;
    case ZYDIS_MNEMONIC_OR:
      return Operation::kOr;
    case ZYDIS_MNEMONIC_XOR:
      return Operation::kXor;
    case ZYDIS_MNEMONIC_CMP:
      return Operation::kCompare;
    case ZYDIS_MNEMONIC_TEST:
      return Operation::kTest;
    default:
      return Operation::kNone;
  }
}

// Returns the register's number in a context; -1 for other registers, and for the second byte of a register.
int general_register(ZydisRegister reg) {
  static constexpr std::array<int, 16> kNumbers = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                   REG_R12, REG_R13, REG_R14, REG_R15};
  if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) return -1;
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return -1;
  return kNumbers[static_cast<size_t>(whole - ZYDIS_REGISTER_RAX)];
}

Simple simple_of(const Decoded& decoded) {
  Simple out;
  const ZydisDecodedOperand &to = decoded.operands[0], &from = decoded.operands[1];
  if (decoded.instruction.operand_count_visible != 2) return {};
  out.to_memory = to.type == ZYDIS_OPERAND_TYPE_MEMORY;
  const ZydisDecodedOperand& other = out.to_memory ? from : to;
  if ((out.to_memory ? to : from).type != ZYDIS_OPERAND_TYPE_MEMORY) return {};
  if (other.type == ZYDIS_OPERAND_TYPE_REGISTER) {
    out.general = general_register(other.reg.value);
    if (out.general < 0) return {};
  } else if (other.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    out.constant = other.imm.value.u;
  } else {
    return {};
  }
  const uint64_t size = to.size / 8, from_size = other.type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? size : from.size / 8;
  if (size == 0 || size > 8 || from_size == 0 || from_size > size) return {};
  out.size = static_cast<uint8_t>(size);
  out.from_size = static_cast<uint8_t>(from_size);
  out.sign =
      decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOVSX || decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOVSXD;
  out.operation = operation_of(decoded.instruction.mnemonic);
  return out;
}

}  // namespace

TrappedAccess decode_access(const ucontext_t& context) {
  TrappedAccess out;
  const auto pc = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  Decoded decoded;
  if (!decode(pc, &decoded)) return out;
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  out.length = instruction.length;
  out.leaves = instruction.meta.category == ZYDIS_CATEGORY_CALL || instruction.meta.category == ZYDIS_CATEGORY_RET ||
               instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
               instruction.meta.category == ZYDIS_CATEGORY_COND_BR;
  const ZydisRegisterContext registers = registers_of(context);
  bool wide = false, atomic_exchange = false;
  for (uint8_t i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    if (operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB) return out;
    // A thread-local variable never lies in a pool.
    if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS) continue;
    ZyanU64 address = 0;
    if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&instruction, &operand, pc, &registers, &address))) return out;
    if (out.count == out.ranges.size()) return out;
    const uint64_t size = operand.size / 8;
    wide = wide || size == 0 || size > kWidest;
    const bool read = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    out.ranges[out.count++] = {address, size, read, written};
    atomic_exchange = atomic_exchange || (instruction.mnemonic == ZYDIS_MNEMONIC_XCHG && read && written);
  }
  classify(decoded, &out);
  if (out.kind != Kind::kUnknown) return out;
  if (wide) return out;
  if (out.count == 0) {
    out.kind = Kind::kOther;
    return out;
  }
  if ((instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || atomic_exchange) {
    out.kind = Kind::kLocked;
    out.may_not_store = instruction.mnemonic == ZYDIS_MNEMONIC_CMPXCHG ||
                        instruction.mnemonic == ZYDIS_MNEMONIC_CMPXCHG8B ||
                        instruction.mnemonic == ZYDIS_MNEMONIC_CMPXCHG16B;
    return out;
  }
  out.kind = Kind::kPlain;
  if (out.count == 1) out.simple = simple_of(decoded);
  out.masked = stores_under_a_mask(decoded);
  if (non_temporal(instruction.mnemonic)) out.code = POWERCUT_STORE_NT;
  return out;
}

std::string instruction_text(uint64_t pc) {
  Decoded decoded;
  if (!decode(pc, &decoded)) return "an instruction that is not known";
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  char text[128];
  if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &decoded.instruction, decoded.operands.data(),
                                                    decoded.instruction.operand_count_visible, text, sizeof text, pc,
                                                    ZYAN_NULL))) {
    return "an instruction that has no text";
  }
  return text;
}

}  // namespace powercut
