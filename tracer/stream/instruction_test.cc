#include "tracer/stream/instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace powercut {
namespace {

using Bytes = std::vector<uint8_t>;

powercut_instruction decode(const Bytes& bytes) {
  return powercut_decode(bytes.data(), static_cast<uint32_t>(bytes.size()));
}

uint8_t kind(const Bytes& bytes) { return decode(bytes).kind; }

TEST(Instruction, FlushesAreTheThreeEncodingsWithMemory) {
  EXPECT_EQ(kind({0x66, 0x0F, 0xAE, 0x30}), kPowercutInsnClwb);        // clwb [rax]
  EXPECT_EQ(kind({0x66, 0x0F, 0xAE, 0x38}), kPowercutInsnClflushopt);  // clflushopt [rax]
  EXPECT_EQ(kind({0x0F, 0xAE, 0x38}), kPowercutInsnClflush);           // clflush [rax]
}

TEST(Instruction, NeighboursInTheSameGroupAreLeftAlone) {
  EXPECT_EQ(kind({0x0F, 0xAE, 0x30}), kPowercutInsnOther);              // xsaveopt
  EXPECT_EQ(kind({0x66, 0x0F, 0xAE, 0x28}), kPowercutInsnOther);        // /5
  EXPECT_EQ(kind({0x66, 0x0F, 0xAE, 0xF0}), kPowercutInsnOther);        // tpause
  EXPECT_EQ(kind({0x66, 0x0F, 0xAE, 0xF8}), kPowercutInsnOther);        // pcommit
  EXPECT_EQ(kind({0xF3, 0x0F, 0xAE, 0x30}), kPowercutInsnOther);        // clrssbsy
  EXPECT_EQ(kind({0x66, 0xF3, 0x0F, 0xAE, 0x30}), kPowercutInsnOther);  // F3 selects before 66
  EXPECT_EQ(kind({0xF0, 0x66, 0x0F, 0xAE, 0x30}), kPowercutInsnOther);  // lock: undefined
}

TEST(Instruction, Fences) {
  EXPECT_EQ(kind({0x0F, 0xAE, 0xF8}), kPowercutInsnSfence);
  EXPECT_EQ(kind({0x0F, 0xAE, 0xF0}), kPowercutInsnMfence);
  EXPECT_EQ(kind({0x0F, 0xAE, 0xE8}), kPowercutInsnLfence);
  EXPECT_EQ(kind({0x0F, 0xAE, 0xE0}), kPowercutInsnOther);
  EXPECT_EQ(kind({0x40, 0x0F, 0xAE, 0xFF}), kPowercutInsnSfence);  // the register bits do not matter
}

TEST(Instruction, OperandOfOneRegister) {
  const powercut_instruction clwb = decode({0x66, 0x41, 0x0F, 0xAE, 0x77, 0xC0});  // clwb [r15 - 64]
  EXPECT_EQ(clwb.length, 6);
  EXPECT_EQ(clwb.base, 15);
  EXPECT_EQ(clwb.index, kPowercutNoRegister);
  EXPECT_EQ(clwb.displacement, -64);
  EXPECT_EQ(clwb.segment, kPowercutSegmentNone);
}

TEST(Instruction, OperandWithIndexAndLongDisplacement) {
  // clflushopt [r13 + r12 * 8 + 0x12345678]: only index 4 without REX.X means none.
  const powercut_instruction flush = decode({0x66, 0x43, 0x0F, 0xAE, 0xBC, 0xE5, 0x78, 0x56, 0x34, 0x12});
  EXPECT_EQ(flush.length, 10);
  EXPECT_EQ(flush.base, 13);
  EXPECT_EQ(flush.index, 12);
  EXPECT_EQ(flush.shift, 3);
  EXPECT_EQ(flush.displacement, 0x12345678);
  const powercut_instruction stack = decode({0x66, 0x0F, 0xAE, 0x34, 0x24});  // clwb [rsp]
  EXPECT_EQ(stack.base, 4);
  EXPECT_EQ(stack.index, kPowercutNoRegister);
  EXPECT_EQ(stack.length, 5);
}

TEST(Instruction, OperandsWithoutABase) {
  const powercut_instruction relative = decode({0x66, 0x0F, 0xAE, 0x35, 0xF0, 0xFF, 0xFF, 0xFF});  // clwb [rip - 16]
  EXPECT_EQ(relative.base, kPowercutRip);
  EXPECT_EQ(relative.displacement, -16);
  EXPECT_EQ(relative.length, 8);
  // clwb fs:[rcx * 4 + 0x40]
  const powercut_instruction indexed = decode({0x64, 0x66, 0x0F, 0xAE, 0x34, 0x8D, 0x40, 0, 0, 0});
  EXPECT_EQ(indexed.base, kPowercutNoRegister);
  EXPECT_EQ(indexed.index, 1);
  EXPECT_EQ(indexed.shift, 2);
  EXPECT_EQ(indexed.segment, kPowercutSegmentFs);
  EXPECT_EQ(indexed.length, 10);
}

TEST(Instruction, PrefixesInAnyOrderAndNumber) {
  const powercut_instruction many = decode({0x66, 0x3E, 0x66, 0x67, 0x65, 0x0F, 0xAE, 0x30});
  EXPECT_EQ(many.kind, kPowercutInsnClwb);
  EXPECT_EQ(many.length, 8);
  EXPECT_EQ(many.narrow, 1);
  EXPECT_EQ(many.segment, kPowercutSegmentGs);
  // A REX prefix that is not the last counts for nothing: base rax, not r8.
  const powercut_instruction early = decode({0x41, 0x66, 0x0F, 0xAE, 0x30});
  EXPECT_EQ(early.kind, kPowercutInsnClwb);
  EXPECT_EQ(early.base, 0);
}

TEST(Instruction, AnIncompleteOneIsNone) {
  const Bytes whole = {0x66, 0x43, 0x0F, 0xAE, 0xBC, 0xE5, 0x78, 0x56, 0x34, 0x12};
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(powercut_decode(whole.data(), static_cast<uint32_t>(size)).kind, kPowercutInsnOther) << size;
  }
  EXPECT_EQ(kind(Bytes(15, 0x66)), kPowercutInsnOther);
}

TEST(Instruction, FlushBytesWithinOtherInstructionsAreNotOnes) {
  EXPECT_EQ(kind({0xB8, 0x66, 0x0F, 0xAE, 0x30}), kPowercutInsnOther);  // mov eax, imm32
  EXPECT_EQ(kind({0x48, 0xB8, 0x66, 0x0F, 0xAE, 0x30, 0, 0, 0, 0}), kPowercutInsnOther);
  EXPECT_EQ(kind({0x0F, 0x1F, 0x84, 0x66, 0x0F, 0xAE, 0x30, 0}), kPowercutInsnOther);  // nop with a displacement
}

TEST(Instruction, NonTemporalStores) {
  EXPECT_EQ(kind({0x0F, 0xC3, 0x07}), kPowercutInsnNtStore);                    // movnti [rdi], eax
  EXPECT_EQ(kind({0x48, 0x0F, 0xC3, 0x07}), kPowercutInsnNtStore);              // movnti [rdi], rax
  EXPECT_EQ(kind({0x66, 0x0F, 0xE7, 0x07}), kPowercutInsnNtStore);              // movntdq
  EXPECT_EQ(kind({0x0F, 0xE7, 0x07}), kPowercutInsnNtStore);                    // movntq
  EXPECT_EQ(kind({0x0F, 0x2B, 0x07}), kPowercutInsnNtStore);                    // movntps
  EXPECT_EQ(kind({0x66, 0x0F, 0x2B, 0x07}), kPowercutInsnNtStore);              // movntpd
  EXPECT_EQ(kind({0x66, 0x0F, 0xF7, 0xC1}), kPowercutInsnNtStore);              // maskmovdqu
  EXPECT_EQ(kind({0xC5, 0xFD, 0xE7, 0x07}), kPowercutInsnNtStore);              // vmovntdq ymm
  EXPECT_EQ(kind({0xC4, 0x41, 0x7D, 0xE7, 0x00}), kPowercutInsnNtStore);        // vmovntdq ymm8, [r8]
  EXPECT_EQ(kind({0xC5, 0xFC, 0x2B, 0x07}), kPowercutInsnNtStore);              // vmovntps
  EXPECT_EQ(kind({0x62, 0xF1, 0x7D, 0x48, 0xE7, 0x07}), kPowercutInsnNtStore);  // vmovntdq zmm
  EXPECT_EQ(kind({0x66, 0x0F, 0x7F, 0x07}), kPowercutInsnOther);                // movdqa
  EXPECT_EQ(kind({0xF3, 0x0F, 0xE7, 0x07}), kPowercutInsnOther);                // F3 0F E6 is a conversion
  EXPECT_EQ(kind({0x66, 0x0F, 0xC3, 0x07}), kPowercutInsnOther);
  EXPECT_EQ(kind({0xC4, 0xE2, 0x7D, 0x2A, 0x07}), kPowercutInsnOther);  // vmovntdqa is a load
  EXPECT_EQ(kind({0xC5, 0xFD, 0x7F, 0x07}), kPowercutInsnOther);        // vmovdqa
}

TEST(Instruction, StringStores) {
  EXPECT_EQ(kind({0xF3, 0xA4}), kPowercutInsnStringStore);
  EXPECT_EQ(kind({0xF3, 0x48, 0xAB}), kPowercutInsnStringStore);
  EXPECT_EQ(kind({0xA4}), kPowercutInsnOther);        // one movsb is one store
  EXPECT_EQ(kind({0xF3, 0xA6}), kPowercutInsnOther);  // cmpsb
}

}  // namespace
}  // namespace powercut
