#include "tracer/pin/instruction_form.h"

namespace powercut {
namespace pin {
namespace {

struct Prefixes {
  bool lock = false, operand_size = false;
};

// Returns how many bytes the prefixes take. Which bits of REX are set never matters here.
uint32_t skip_prefixes(const uint8_t* bytes, uint32_t available, Prefixes* out) {
  uint32_t at = 0;
  for (; at < available; ++at) {
    const uint8_t byte = bytes[at];
    if (byte == 0xF0) {
      out->lock = true;
    } else if (byte == 0x66) {
      out->operand_size = true;
    } else if ((byte & 0xF0) != 0x40 && byte != 0x67 && byte != 0xF2 && byte != 0xF3 && byte != 0x26 && byte != 0x2E &&
               byte != 0x36 && byte != 0x3E && byte != 0x64 && byte != 0x65) {
      break;
    }
  }
  return at;
}

bool names_memory(uint8_t modrm) { return modrm >> 6 != 3; }

// VEX (C5, C4) and EVEX (62): `bytes` starts with one of these.
void read_vector_form(const uint8_t* bytes, uint32_t available, InstructionForm* form) {
  const bool evex = bytes[0] == 0x62;
  const uint32_t opcode_at = bytes[0] == 0xC5 ? 2 : evex ? 4 : 3;
  if (available < opcode_at + 2) return;
  const uint8_t map = bytes[0] == 0xC5 ? 1 : evex ? bytes[1] & 7 : bytes[1] & 31;
  const uint8_t opcode = bytes[opcode_at];
  if (evex) {
    if ((bytes[3] & 7) == 0) return;
    const bool compresses = map == 2 && (opcode == 0x8A || opcode == 0x8B || opcode == 0x63);
    form->mask = compresses ? Mask::kCompressed : Mask::kElements;
  } else if (map == 2 && (opcode == 0x2E || opcode == 0x2F || opcode == 0x8E)) {
    form->mask = Mask::kElements;
  } else if (map == 1 && opcode == 0xF7) {
    // vmaskmovdqu. The register is extended by the inverted B, which only the three-byte prefix has.
    form->mask = Mask::kBytes;
    const uint8_t high = bytes[0] == 0xC4 && (bytes[1] & 0x20) == 0 ? 8 : 0;
    form->mask_register = static_cast<uint8_t>((bytes[opcode_at + 1] & 7) | high);
  }
}

// Maps 0F and 0F 38: `bytes` starts after the 0F.
void read_0f_form(const uint8_t* bytes, uint32_t available, const Prefixes& prefix, uint8_t rex,
                  InstructionForm* form) {
  if (available == 0) return;
  const uint8_t opcode = bytes[0];
  if (opcode == 0xA2) {
    form->cpuid = true;
    return;
  }
  if (available < 2) return;
  const uint8_t modrm = bytes[1];
  if (opcode == 0xB0 || opcode == 0xB1) {
    form->compares = names_memory(modrm);
  } else if (opcode == 0xC7) {
    form->compares = names_memory(modrm) && ((modrm >> 3) & 7) == 1;
  } else if (opcode == 0xF7 && !names_memory(modrm)) {
    form->mask = Mask::kBytes;
    form->mask_is_mmx = !prefix.operand_size;
    form->mask_register = static_cast<uint8_t>((modrm & 7) | (prefix.operand_size && (rex & 1) != 0 ? 8 : 0));
  } else if (opcode == 0x38 && available >= 3 && names_memory(bytes[2])) {
    // movdir64b, whose store is to where a register points, and movdiri: write-combining, as non-temporal stores.
    form->whole = bytes[1] == 0xF8 && prefix.operand_size;
    form->nt = bytes[1] == 0xF9 || form->whole;
  }
}

}  // namespace

const uint8_t kRequestPreamble[kRequestPreambleSize] = {0x48, 0xC1, 0xC7, 3,  0x48, 0xC1, 0xC7, 13,
                                                        0x48, 0xC1, 0xC7, 61, 0x48, 0xC1, 0xC7, 51};

InstructionForm form_of(const uint8_t* bytes, uint32_t available) {
  InstructionForm form = {};
  if (available > kPowercutLongestInstruction) available = kPowercutLongestInstruction;
  form.decoded = powercut_decode(bytes, available);
  form.nt = form.decoded.kind == kPowercutInsnNtStore;
  form.string = form.decoded.kind == kPowercutInsnStringStore;
  Prefixes prefix;
  const uint32_t at = skip_prefixes(bytes, available, &prefix);
  if (at >= available) return form;
  const uint8_t opcode = bytes[at];
  const uint8_t rex = at > 0 && (bytes[at - 1] & 0xF0) == 0x40 ? bytes[at - 1] : 0;
  form.locked = prefix.lock;
  if (opcode == 0xC4 || opcode == 0xC5 || opcode == 0x62) {
    read_vector_form(bytes + at, available - at, &form);
  } else if (opcode == 0x0F) {
    read_0f_form(bytes + at + 1, available - at - 1, prefix, rex, &form);
  } else if ((opcode == 0x86 || opcode == 0x87) && at + 1 < available) {
    form.locked |= names_memory(bytes[at + 1]);
    form.may_request = rex == 0x48 && opcode == 0x87 && bytes[at + 1] == 0xDB;
  }
  return form;
}

uint64_t flush_address(const powercut_instruction& flush, uint64_t base, uint64_t index, uint64_t segment_base,
                       uint64_t next) {
  uint64_t address = static_cast<uint64_t>(static_cast<int64_t>(flush.displacement));
  if (flush.base == kPowercutRip) {
    address += next;
  } else if (flush.base != kPowercutNoRegister) {
    address += base;
  }
  if (flush.index != kPowercutNoRegister) address += index << flush.shift;
  if (flush.narrow != 0) address &= 0xFFFFFFFFu;
  return flush.segment == kPowercutSegmentNone ? address : address + segment_base;
}

uint32_t shown_features(uint32_t leaf, uint32_t subleaf, uint32_t ebx) {
  constexpr uint32_t kClflushopt = 1u << 23, kClwb = 1u << 24;
  return leaf == 7 && subleaf == 0 ? ebx | kClflushopt | kClwb : ebx;
}

}  // namespace pin
}  // namespace powercut
