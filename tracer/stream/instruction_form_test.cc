// Properties of an instruction beyond its kind (locked, masked, a request), and the flushes that a host is told of.
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tracer/stream/instruction.h"

namespace powercut {
namespace {

powercut_instruction form(std::initializer_list<int> bytes) {
  const std::vector<uint8_t> code(bytes.begin(), bytes.end());
  return powercut_decode(code.data(), static_cast<uint32_t>(code.size()));
}

TEST(InstructionForm, PlainStoreIsNothingSpecial) {
  const powercut_instruction mov = form({0x48, 0x89, 0x07});  // mov [rdi], rax
  EXPECT_FALSE(mov.kind == kPowercutInsnNtStore || mov.kind == kPowercutInsnStringStore || mov.locked || mov.compares ||
               mov.cpuid || mov.may_request);
  EXPECT_EQ(mov.mask, kPowercutMaskNone);
}

TEST(InstructionForm, LockedByPrefixAndByExchangeWithMemory) {
  EXPECT_TRUE(form({0xF0, 0x48, 0x01, 0x07}).locked);        // lock add [rdi], rax
  EXPECT_TRUE(form({0x48, 0x87, 0x07}).locked);              // xchg [rdi], rax
  EXPECT_TRUE(form({0x86, 0x07}).locked);                    // xchg [rdi], al
  EXPECT_FALSE(form({0x48, 0x87, 0xC7}).locked);             // xchg rdi, rax
  EXPECT_FALSE(form({0x48, 0x0F, 0xC1, 0x07}).locked);       // xadd [rdi], rax
  EXPECT_TRUE(form({0x66, 0xF0, 0x0F, 0xC1, 0x07}).locked);  // lock xadd [rdi], ax
}

TEST(InstructionForm, ComparingStores) {
  EXPECT_TRUE(form({0xF0, 0x48, 0x0F, 0xB1, 0x17}).compares);         // lock cmpxchg [rdi], rdx
  EXPECT_TRUE(form({0x0F, 0xB0, 0x17}).compares);                     // cmpxchg [rdi], dl
  EXPECT_FALSE(form({0x48, 0x0F, 0xB1, 0xD7}).compares);              // cmpxchg rdi, rdx
  EXPECT_TRUE(form({0xF0, 0x48, 0x0F, 0xC7, 0x0F}).compares);         // lock cmpxchg16b [rdi]
  EXPECT_FALSE(form({0x48, 0x0F, 0xC7, 0x27}).compares);              // xsavec64 [rdi]
  EXPECT_FALSE(form({0x48, 0x0F, 0xC7, 0xF0}).compares);              // rdrand rax
  EXPECT_FALSE(form({0xF0, 0x48, 0x0F, 0xB3, 0x07}).compares);        // lock btr [rdi], rax
  EXPECT_TRUE(form({0xF0, 0x41, 0x0F, 0xB1, 0x54, 0x24, 8}).locked);  // lock cmpxchg [r12+8], edx
}

TEST(InstructionForm, NonTemporalAndDirectStores) {
  EXPECT_TRUE(form({0x48, 0x0F, 0xC3, 0x07}).kind == kPowercutInsnNtStore);              // movnti [rdi], rax
  EXPECT_TRUE(form({0x66, 0x0F, 0xE7, 0x07}).kind == kPowercutInsnNtStore);              // movntdq [rdi], xmm0
  EXPECT_TRUE(form({0xC5, 0xFD, 0xE7, 0x07}).kind == kPowercutInsnNtStore);              // vmovntdq [rdi], ymm0
  EXPECT_TRUE(form({0x62, 0xF1, 0x7D, 0x48, 0xE7, 0x07}).kind == kPowercutInsnNtStore);  // vmovntdq [rdi], zmm0
  EXPECT_TRUE(form({0x0F, 0x38, 0xF9, 0x07}).kind == kPowercutInsnNtStore);              // movdiri [rdi], eax
  EXPECT_TRUE(form({0x66, 0x0F, 0x38, 0xF8, 0x07}).kind == kPowercutInsnNtStore);        // movdir64b rax, [rdi]
  EXPECT_FALSE(form({0xF2, 0x0F, 0x38, 0xF8, 0x07}).kind == kPowercutInsnNtStore);       // enqcmd
  EXPECT_FALSE(form({0x48, 0x0F, 0x38, 0xF6, 0x07}).kind == kPowercutInsnNtStore);       // wrssq
  EXPECT_EQ(form({0x62, 0xF1, 0x7D, 0x48, 0xE7, 0x07}).mask, kPowercutMaskNone);
}

TEST(InstructionForm, MaskedStores) {
  EXPECT_EQ(form({0x62, 0xF1, 0x7C, 0x49, 0x11, 0x07}).mask, kPowercutMaskElements);        // vmovups [rdi]{k1}, zmm0
  EXPECT_EQ(form({0x62, 0xF1, 0x7C, 0x48, 0x11, 0x07}).mask, kPowercutMaskNone);            // without a mask
  EXPECT_EQ(form({0x62, 0xF2, 0x7D, 0x49, 0xA0, 0x04, 0x07}).mask, kPowercutMaskElements);  // vpscatterdd
  EXPECT_EQ(form({0x62, 0xF2, 0x7D, 0x49, 0x8B, 0x07}).mask, kPowercutMaskCompressed);  // vpcompressd [rdi]{k1}, zmm0
  EXPECT_EQ(form({0xC4, 0xE2, 0x75, 0x2E, 0x07}).mask, kPowercutMaskElements);          // vmaskmovps [rdi], ymm1, ymm0
  EXPECT_EQ(form({0xC4, 0xE2, 0xF5, 0x8E, 0x07}).mask, kPowercutMaskElements);          // vpmaskmovq [rdi], ymm1, ymm0
  EXPECT_EQ(form({0xC4, 0xE2, 0x75, 0x2C, 0x07}).mask, kPowercutMaskNone);              // vmaskmovps, the load
}

TEST(InstructionForm, MaskedBytesNameTheirRegister) {
  const powercut_instruction sse = form({0x66, 0x41, 0x0F, 0xF7, 0xC3});  // maskmovdqu xmm0, xmm11
  EXPECT_EQ(sse.mask, kPowercutMaskBytes);
  EXPECT_EQ(sse.mask_register, 11);
  EXPECT_FALSE(sse.mask_is_mmx);
  EXPECT_TRUE(sse.kind == kPowercutInsnNtStore);
  const powercut_instruction mmx = form({0x0F, 0xF7, 0xCA});  // maskmovq mm1, mm2
  EXPECT_EQ(mmx.mask_register, 2);
  EXPECT_TRUE(mmx.mask_is_mmx);
  EXPECT_EQ(form({0xC5, 0xF9, 0xF7, 0xC2}).mask_register, 2);         // vmaskmovdqu xmm0, xmm2
  EXPECT_EQ(form({0xC4, 0xC1, 0x79, 0xF7, 0xC2}).mask_register, 10);  // vmaskmovdqu xmm0, xmm10
  EXPECT_TRUE(form({0xC4, 0xC1, 0x79, 0xF7, 0xC2}).kind == kPowercutInsnNtStore);
}

TEST(InstructionForm, StringsRequestsAndCpuid) {
  EXPECT_TRUE(form({0xF3, 0x48, 0xAB}).kind == kPowercutInsnStringStore);  // rep stosq
  EXPECT_FALSE(form({0x48, 0xAB}).kind == kPowercutInsnStringStore);       // stosq
  EXPECT_TRUE(form({0x48, 0x87, 0xDB}).may_request);                       // xchg rbx, rbx
  EXPECT_FALSE(form({0x87, 0xDB}).may_request);
  EXPECT_TRUE(form({0x0F, 0xA2}).cpuid);
}

TEST(InstructionForm, NothingIsReadBehindTheBytesThatThereAre) {
  const std::vector<uint8_t> longest = {0x66, 0xF0, 0x62, 0xF1, 0x7C, 0x49, 0x11, 0x07};
  for (size_t size = 0; size <= longest.size(); ++size) {
    const std::vector<uint8_t> cut(longest.begin(), longest.begin() + static_cast<ptrdiff_t>(size));
    powercut_decode(cut.data(), static_cast<uint32_t>(size));
  }
  EXPECT_EQ(form({0x62, 0xF1, 0x7C}).mask, kPowercutMaskNone);
  EXPECT_FALSE(form({0x0F}).cpuid);
  EXPECT_FALSE(form({0x0F, 0x38, 0xF9}).kind == kPowercutInsnNtStore);
  EXPECT_FALSE(form({0x87}).locked);
}

TEST(FlushAddress, AddsWhatTheOperandNames) {
  const auto address = [](std::initializer_list<int> bytes, uint64_t base, uint64_t index, uint64_t segment) {
    const powercut_instruction flush = form(bytes);
    return powercut_flush_address(&flush, base, index, segment, 0x5000);
  };
  EXPECT_EQ(address({0x66, 0x0F, 0xAE, 0x37}, 0x1000, 99, 99), 0x1000u);                         // clwb [rdi]
  EXPECT_EQ(address({0x66, 0x0F, 0xAE, 0x74, 0xCF, 0xF8}, 0x1000, 3, 99), 0x1000u + 24 - 8);     // [rdi+rcx*8-8]
  EXPECT_EQ(address({0x66, 0x0F, 0xAE, 0x35, 0x10, 0, 0, 0}, 99, 99, 99), 0x5010u);              // [rip+16]
  EXPECT_EQ(address({0x64, 0x66, 0x0F, 0xAE, 0x3F}, 0x10, 99, 0x7000), 0x7010u);                 // clflushopt fs:[rdi]
  EXPECT_EQ(address({0x67, 0x0F, 0xAE, 0x3F}, 0xFFFFFFFF00000010, 99, 99), 0x10u);               // clflush [edi]
  EXPECT_EQ(address({0x0F, 0xAE, 0x3C, 0x25, 0, 0, 0, 0x80}, 99, 99, 99), 0xFFFFFFFF80000000u);  // [disp32]
}

TEST(ShownFeatures, OnlyInTheFirstPartOfLeafSeven) {
  EXPECT_EQ(powercut_shown_features(7, 0, 1), 1u | 1u << 23 | 1u << 24);
  EXPECT_EQ(powercut_shown_features(7, 1, 1), 1u);
  EXPECT_EQ(powercut_shown_features(1, 0, 1), 1u);
}

}  // namespace
}  // namespace powercut
