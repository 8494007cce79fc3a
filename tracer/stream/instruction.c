#include "tracer/stream/instruction.h"

typedef struct prefixes {
  int operand_size, address_size, repeat; /* repeat: 0xF2 or 0xF3 */
  int lock, segment;
  uint8_t rex;
} prefixes;

/* Returns how many bytes the prefixes take. A REX prefix counts only right before the opcode. */
static uint32_t read_prefixes(const uint8_t* bytes, uint32_t available, prefixes* out) {
  uint32_t at = 0;
  for (; at < available; ++at) {
    const uint8_t byte = bytes[at];
    if (byte == 0x66) {
      out->operand_size = 1;
    } else if (byte == 0x67) {
      out->address_size = 1;
    } else if (byte == 0xF2 || byte == 0xF3) {
      out->repeat = byte;
    } else if (byte == 0xF0) {
      out->lock = 1;
    } else if (byte == 0x64 || byte == 0x65) {
      out->segment = byte == 0x64 ? kPowercutSegmentFs : kPowercutSegmentGs;
    } else if ((byte & 0xF0) == 0x40) {
      out->rex = byte;
      continue;
    } else if (byte != 0x26 && byte != 0x2E && byte != 0x36 && byte != 0x3E) {
      break; /* the others have no effect in 64-bit mode */
    }
    out->rex = 0;
  }
  return at;
}

/* The memory operand whose ModRM byte is at `bytes`. Returns its size with SIB and displacement; 0: not complete. */
static uint32_t read_operand(const uint8_t* bytes, uint32_t available, const prefixes* prefix,
                             powercut_instruction* out) {
  const uint8_t mod = bytes[0] >> 6, rm = bytes[0] & 7;
  const uint8_t rex_b = (prefix->rex & 1) != 0 ? 8 : 0, rex_x = (prefix->rex & 2) != 0 ? 8 : 0;
  uint32_t at = 1, displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  out->index = kPowercutNoRegister;
  out->segment = (uint8_t)prefix->segment;
  out->narrow = (uint8_t)prefix->address_size;
  if (rm == 4) {
    if (available < 2) return 0;
    const uint8_t sib = bytes[at++];
    const uint8_t index = (uint8_t)(((sib >> 3) & 7) | rex_x);
    if (index != 4) {
      out->index = index;
      out->shift = sib >> 6;
    }
    out->base = (uint8_t)((sib & 7) | rex_b);
    if (mod == 0 && (sib & 7) == 5) {
      out->base = kPowercutNoRegister;
      displacement = 4;
    }
  } else if (mod == 0 && rm == 5) {
    out->base = kPowercutRip;
    displacement = 4;
  } else {
    out->base = (uint8_t)(rm | rex_b);
  }
  if (available < at + displacement) return 0;
  if (displacement == 1) out->displacement = (int8_t)bytes[at];
  if (displacement == 4) {
    out->displacement = (int32_t)((uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 |
                                  (uint32_t)bytes[at + 3] << 24);
  }
  return at + displacement;
}

/* Group 15, 0F AE: by the ModRM byte and the one prefix that selects among its instructions. */
static uint8_t group15(uint8_t modrm, const prefixes* prefix) {
  const uint8_t mod = modrm >> 6, reg = (modrm >> 3) & 7;
  if (prefix->repeat != 0 || prefix->lock) return kPowercutInsnOther;
  if (mod == 3) {
    if (prefix->operand_size) return kPowercutInsnOther; /* tpause and pcommit */
    if (reg == 5) return kPowercutInsnLfence;
    if (reg == 6) return kPowercutInsnMfence;
    return reg == 7 ? kPowercutInsnSfence : kPowercutInsnOther;
  }
  if (reg == 7) return prefix->operand_size ? kPowercutInsnClflushopt : kPowercutInsnClflush;
  /* Without 0x66 it is xsaveopt. */
  return reg == 6 && prefix->operand_size ? kPowercutInsnClwb : kPowercutInsnOther;
}

/* Opcodes of map 0F. `selects`: 0 none, 0x66, 0xF2 or 0xF3. */
static int is_nt_store(uint8_t opcode, uint8_t modrm, int selects) {
  const int memory = modrm >> 6 != 3;
  switch (opcode) {
    case 0xC3: /* movnti */
      return memory && selects == 0;
    case 0x2B: /* movntps, movntpd; movntss and movntsd of SSE4a */
      return memory;
    case 0xE7: /* movntq, movntdq */
      return memory && (selects == 0 || selects == 0x66);
    case 0xF7: /* maskmovq, maskmovdqu */
      return !memory && (selects == 0 || selects == 0x66);
    default:
      return 0;
  }
}

/* VEX (C5, C4) and EVEX (62) forms: `bytes` starts with one of these. */
static void read_vex(const uint8_t* bytes, uint32_t available, powercut_instruction* out) {
  const int evex = bytes[0] == 0x62, is_short = bytes[0] == 0xC5;
  const uint32_t opcode_at = is_short ? 2 : evex ? 4 : 3;
  if (available < opcode_at + 2) return;
  const int map = is_short ? 1 : bytes[1] & (evex ? 7 : 31), selects = bytes[is_short ? 1 : 2] & 3;
  const uint8_t opcode = bytes[opcode_at], modrm = bytes[opcode_at + 1];
  /* The old forms of C3 and of F7 with mod 3 keep their meaning: movnti has no VEX form. */
  if (map == 1 && selects <= 1 && opcode != 0xC3 && is_nt_store(opcode, modrm, selects == 1 ? 0x66 : 0)) {
    out->kind = kPowercutInsnNtStore;
  }
  if (evex) {
    if ((bytes[3] & 7) == 0) return;
    const int compresses = map == 2 && (opcode == 0x8A || opcode == 0x8B || opcode == 0x63);
    out->mask = compresses ? kPowercutMaskCompressed : kPowercutMaskElements;
  } else if (map == 2 && (opcode == 0x2E || opcode == 0x2F || opcode == 0x8E)) {
    out->mask = kPowercutMaskElements;
  } else if (map == 1 && opcode == 0xF7) {
    /* vmaskmovdqu. The register is extended by the inverted B, which only the three-byte prefix has. */
    out->mask = kPowercutMaskBytes;
    out->mask_register = (uint8_t)((modrm & 7) | (!is_short && (bytes[1] & 0x20) == 0 ? 8 : 0));
  }
}

/* Map 0F without group 15: `bytes` starts with the opcode, and has the byte behind it. */
static void read_0f(const uint8_t* bytes, uint32_t available, const prefixes* prefix, powercut_instruction* out) {
  const uint8_t opcode = bytes[0], modrm = bytes[1];
  const int memory = modrm >> 6 != 3;
  if (is_nt_store(opcode, modrm, prefix->repeat != 0 ? prefix->repeat : prefix->operand_size ? 0x66 : 0)) {
    out->kind = kPowercutInsnNtStore;
  }
  if (opcode == 0xB0 || opcode == 0xB1) {
    out->compares = memory;
  } else if (opcode == 0xC7) {
    out->compares = memory && ((modrm >> 3) & 7) == 1;
  } else if (opcode == 0xF7 && !memory) {
    out->mask = kPowercutMaskBytes;
    out->mask_is_mmx = !prefix->operand_size;
    out->mask_register = (uint8_t)((modrm & 7) | (prefix->operand_size && (prefix->rex & 1) != 0 ? 8 : 0));
  } else if (opcode == 0x38 && available >= 3 && bytes[2] >> 6 != 3) {
    /* movdir64b, whose store is to where a register points, and movdiri: write-combining, as non-temporal stores. */
    out->whole = modrm == 0xF8 && prefix->operand_size;
    if (modrm == 0xF9 || out->whole) out->kind = kPowercutInsnNtStore;
  }
}

powercut_instruction powercut_decode(const uint8_t* bytes, uint32_t available) {
  powercut_instruction out = {0};
  prefixes prefix = {0};
  if (available > kPowercutLongestInstruction) available = kPowercutLongestInstruction;
  const uint32_t at = read_prefixes(bytes, available, &prefix);
  if (at >= available) return out;
  const uint8_t first = bytes[at];
  out.locked = (uint8_t)prefix.lock;
  if (first == 0xC4 || first == 0xC5 || first == 0x62) {
    read_vex(bytes + at, available - at, &out);
    return out;
  }
  if ((first == 0x86 || first == 0x87) && available - at > 1) {
    out.locked |= bytes[at + 1] >> 6 != 3;
    out.may_request = prefix.rex == 0x48 && first == 0x87 && bytes[at + 1] == 0xDB;
    return out;
  }
  if (prefix.repeat != 0 && (first == 0xA4 || first == 0xA5 || first == 0xAA || first == 0xAB)) {
    out.kind = kPowercutInsnStringStore;
    return out;
  }
  if (first != 0x0F || available - at < 2) return out;
  out.cpuid = bytes[at + 1] == 0xA2;
  if (available - at < 3) return out;
  if (bytes[at + 1] != 0xAE) {
    read_0f(bytes + at + 1, available - at - 1, &prefix, &out);
    return out;
  }
  const uint8_t kind = group15(bytes[at + 2], &prefix);
  if (kind >= kPowercutInsnClwb && kind <= kPowercutInsnClflush) {
    const uint32_t operand = read_operand(bytes + at + 2, available - at - 2, &prefix, &out);
    if (operand == 0) {
      const powercut_instruction incomplete = {0};
      return incomplete;
    }
    out.length = (uint8_t)(at + 2 + operand);
  }
  out.kind = kind;
  return out;
}

uint64_t powercut_flush_address(const powercut_instruction* flush, uint64_t base, uint64_t index, uint64_t segment_base,
                                uint64_t next) {
  uint64_t address = (uint64_t)(int64_t)flush->displacement;
  if (flush->base == kPowercutRip) {
    address += next;
  } else if (flush->base != kPowercutNoRegister) {
    address += base;
  }
  if (flush->index != kPowercutNoRegister) address += index << flush->shift;
  if (flush->narrow != 0) address &= 0xFFFFFFFFu;
  return flush->segment == kPowercutSegmentNone ? address : address + segment_base;
}

uint32_t powercut_shown_features(uint32_t leaf, uint32_t subleaf, uint32_t ebx) {
  const uint32_t clflushopt = 1u << 23, clwb = 1u << 24;
  return leaf == 7 && subleaf == 0 ? ebx | clflushopt | clwb : ebx;
}

int powercut_is_request(const uint8_t bytes[kPowercutRequestSize]) {
  static const uint8_t rotations[kPowercutRequestSize] = {0x48, 0xC1, 0xC7, 3,  0x48, 0xC1, 0xC7, 13,
                                                          0x48, 0xC1, 0xC7, 61, 0x48, 0xC1, 0xC7, 51};
  for (uint32_t i = 0; i < kPowercutRequestSize; ++i) {
    if (bytes[i] != rotations[i]) return 0;
  }
  return 1;
}
