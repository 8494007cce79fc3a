#include "tracer/llvm/asm/decode.h"

#include <gtest/gtest.h>

#include "tracer/llvm/asm/text.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

using Kinds = std::vector<OperandKind>;
const Kinds kOneMemory = {OperandKind::kMemory};
const Kinds kOneRegister = {OperandKind::kRegister};
const Kinds kMemoryAndRegister = {OperandKind::kMemory, OperandKind::kRegister};

// One word for each action: what a reader of a failure wants to see.
std::string summary(std::string_view text, const Kinds& kinds, bool intel = false) {
  std::string words;
  for (const AsmAction& action : decode_asm(text, intel, kinds)) {
    if (!words.empty()) words += ' ';
    switch (action.effect) {
      case AsmEffect::kFlush:
        words += action.code == POWERCUT_CLWB ? "clwb" : action.code == POWERCUT_CLFLUSH ? "clflush" : "clflushopt";
        break;
      case AsmEffect::kFence:
        words += action.code == POWERCUT_SFENCE ? "sfence" : action.code == POWERCUT_MFENCE ? "mfence" : "locked-fence";
        break;
      case AsmEffect::kStore:
        words += (action.code & POWERCUT_STORE_NT) != 0 ? "nt-store" : "store";
        break;
      case AsmEffect::kLoad:
        words += "load";
        break;
      case AsmEffect::kLockedModify:
        words += action.may_not_store ? "cmpxchg" : "locked";
        break;
      case AsmEffect::kPause:
        words += "pause";
        break;
      case AsmEffect::kOpaque:
        words += "opaque";
        break;
    }
    if (action.size != 0) words += std::to_string(action.size);
  }
  return words;
}

TEST(AsmText, SplitsAtSemicolonsAndLinesAndDropsComments) {
  const auto instructions = split_asm("CLWB $0 ;# first\n\tsfence // second\n/* none */ nop", false);
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(instructions[0].mnemonic, "clwb");
  EXPECT_EQ(instructions[0].operands, std::vector<std::string>{"$0"});
  EXPECT_EQ(instructions[1].mnemonic, "sfence");
  EXPECT_EQ(instructions[2].mnemonic, "nop");
}

TEST(AsmText, JoinsPrefixesAndBytesWithTheInstructionBehind) {
  for (const char* text : {"lock; incl $0", "lock incl $0", "lock\n\tincl $0"}) {
    const auto instructions = split_asm(text, false);
    ASSERT_EQ(instructions.size(), 1u) << text;
    EXPECT_EQ(instructions[0].prefixes, std::vector<std::string>{"lock"});
    EXPECT_EQ(instructions[0].mnemonic, "incl");
  }
  const auto instructions = split_asm(".byte 0x66; .byte 15", false);
  ASSERT_EQ(instructions.size(), 1u);
  EXPECT_EQ(instructions[0].bytes, (std::vector<uint8_t>{0x66, 15}));
}

TEST(AsmText, ChoosesTheDialectsSide) {
  EXPECT_EQ(split_asm("mov$(q$|$) $0, $(%rax$|rax$)", false)[0].mnemonic, "movq");
  EXPECT_EQ(split_asm("mov$(q$|$) $0, $(%rax$|rax$)", true)[0].mnemonic, "mov");
}

TEST(AsmText, KeepsCommasInsideAddressesTogether) {
  const auto instructions = split_asm("movq $0, 8($1,$2,4)", false);
  EXPECT_EQ(instructions[0].operands, (std::vector<std::string>{"$0", "8($1,$2,4)"}));
}

TEST(AsmText, FindsLabels) {
  EXPECT_TRUE(split_asm("1: clwb $0", false)[0].label);
  EXPECT_FALSE(split_asm("clflush ${0:a}", false)[0].label);
}

struct Case {
  const char* text;
  const char* expected;
};

TEST(AsmDecode, Flushes) {
  for (const auto& [text, expected] : {
           Case{"clwb $0", "clwb"},
           Case{"clflushopt $0", "clflushopt"},
           Case{"clflush $0", "clflush"},
           Case{"  CLFLUSH\t$0 ", "clflush"},
           Case{".byte 0x66; clflush $0", "clflushopt"},
           Case{".byte 0x66\n\tclflush $0", "clflushopt"},
           Case{".byte 0x66; xsaveopt $0", "clwb"},
           Case{".byte 0x66\nxsaveopt $0\nsfence", "clwb sfence"},
           Case{".byte 102; xsaveopt $0", "clwb"},
           Case{"data16 clflush $0", "clflushopt"},
           Case{"data16; xsaveopt $0", "clwb"},
           Case{"xsaveopt $0", "opaque"},
           Case{"clwb $0\n\tclwb $0", "clwb clwb"},
           Case{"clwb missing", "opaque"},
           Case{"clwb", "opaque"},
           Case{"clwb $7", "opaque"},
       }) {
    EXPECT_EQ(summary(text, kOneMemory), expected) << text;
  }
}

TEST(AsmDecode, AddressesThroughRegisters) {
  const auto one = [](const char* text) { return decode_asm(text, false, kOneRegister); };
  EXPECT_EQ(one("clwb ($0)")[0].address.operand, 0);
  EXPECT_EQ(one("clwb 0x40($0)")[0].address.displacement, 64);
  EXPECT_EQ(one("clwb -8($0)")[0].address.displacement, -8);
  EXPECT_EQ(one("clwb ${0:a}")[0].address.operand, 0);
  EXPECT_EQ(one("clwb (%rdi)")[0].address.reg, "rdi");
  EXPECT_EQ(one("clwb $0")[0].effect, AsmEffect::kOpaque) << "a register is no address";
  EXPECT_EQ(one("clwb %fs:($0)")[0].effect, AsmEffect::kOpaque);
  const auto scaled = decode_asm("clwb 16($0,$1,8)", false, Kinds{OperandKind::kRegister, OperandKind::kRegister});
  EXPECT_EQ(scaled[0].address.index, 1);
  EXPECT_EQ(scaled[0].address.scale, 8);
  EXPECT_EQ(scaled[0].address.displacement, 16);
}

TEST(AsmDecode, AddressesInIntelSyntax) {
  EXPECT_EQ(summary("clwb [$0]", kOneRegister, true), "clwb");
  EXPECT_EQ(summary("clwb byte ptr [$0 + 64]", kOneRegister, true), "clwb");
  EXPECT_EQ(decode_asm("clwb [$0 - 8]", true, kOneRegister)[0].address.displacement, -8);
  EXPECT_EQ(summary("clwb $0", kOneMemory, true), "clwb");
  EXPECT_EQ(summary("movnti $0, $1", kMemoryAndRegister, true), "nt-store");
}

TEST(AsmDecode, EncodingsAsBytes) {
  EXPECT_EQ(summary(".byte 0x66, 0x0f, 0xae, 0x30", {}), "clwb");
  EXPECT_EQ(summary(".byte 0x66, 0x0f, 0xae, 0x38", {}), "clflushopt");
  EXPECT_EQ(summary(".byte 0x0f, 0xae, 0x3f", {}), "clflush");
  EXPECT_EQ(summary(".byte 0x0f, 0xae, 0xf8", {}), "sfence");
  EXPECT_EQ(summary(".byte 0x0f, 0xae, 0xf0", {}), "mfence");
  EXPECT_EQ(summary(".byte 0x0f, 0xae, 0xe8", {}), "") << "lfence";
  EXPECT_EQ(summary(".byte 0x66, 0x0f, 0xae, 0xf8", {}), "opaque") << "pcommit";
  EXPECT_EQ(summary(".byte 0x66, 0x0f, 0xae", {}), "opaque");
  const auto displaced = decode_asm(".byte 0x66, 0x41, 0x0f, 0xae, 0x70, 0xc0", false, {});
  ASSERT_EQ(displaced[0].effect, AsmEffect::kFlush);
  EXPECT_EQ(displaced[0].address.reg, "r8");
  EXPECT_EQ(displaced[0].address.displacement, -64);
}

TEST(AsmDecode, FencesAndHints) {
  EXPECT_EQ(summary("sfence", {}), "sfence");
  EXPECT_EQ(summary("mfence; sfence", {}), "mfence sfence");
  for (const char* text : {"", "nop", "lfence", "# only a comment", "prefetchw $0", "cpuid"}) {
    EXPECT_EQ(summary(text, kOneMemory), "") << text;
  }
}

TEST(AsmDecode, Pauses) {
  for (const char* text : {"pause", "rep; nop", "rep nop", "repz; nop", "rep\n\tnop", ".byte 0xf3, 0x90"}) {
    EXPECT_EQ(summary(text, {}), "pause") << text;
  }
  EXPECT_EQ(summary("pause; movl $1, $0; pause", kMemoryAndRegister), "pause store4 pause");
  EXPECT_EQ(summary("1: pause; jmp 1b", {}), "") << "nobody knows how often";
  EXPECT_EQ(summary(".byte 0xf3, 0xa4", {}), "opaque") << "rep movsb";
}

TEST(AsmDecode, LockedInstructions) {
  for (const auto& [text, expected] : {
           Case{"lock xaddl $1, $0", "locked4"},
           Case{"lock; addq $1, $0", "locked8"},
           Case{"lock add $1, $0", "locked"},
           Case{"lock\n incb $0", "locked1"},
           Case{"xchgw $1, $0", "locked2"},
           Case{"xchg $0, $1", "locked"},
           Case{"lock cmpxchgq $1, $0", "cmpxchg8"},
           Case{"lock cmpxchg16b $0", "cmpxchg16"},
           Case{"lock; addl $$0, 0(%rsp)", "locked-fence"},
           Case{"lock; orq $$0, (%rsp)", "locked-fence"},
           Case{"lock bogus $0", "locked-fence opaque"},
           Case{"lock addl $1, %fs:0", "locked-fence opaque"},
       }) {
    EXPECT_EQ(summary(text, kMemoryAndRegister), expected) << text;
  }
  EXPECT_EQ(summary("xchg $0, $1", {OperandKind::kRegister, OperandKind::kRegister}), "") << "no memory: not locked";
}

TEST(AsmDecode, Moves) {
  for (const auto& [text, expected] : {
           Case{"movnti $1, $0", "nt-store"},
           Case{"movntiq $1, $0", "nt-store8"},
           Case{"vmovntdq $1, $0", "nt-store"},
           Case{"movq $1, $0", "store8"},
           Case{"movl $$5, $0", "store4"},
           Case{"mov ${1:b}, $0", "store"},
           Case{"movb ${1:h}, $0", "opaque"},
           Case{"movdqu $1, $0", "store"},
           Case{"movq $0, $1", "load8"},
           Case{"movq $1, %rax", ""},
       }) {
    EXPECT_EQ(summary(text, kMemoryAndRegister), expected) << text;
  }
}

TEST(AsmDecode, WhatItDoesNotKnowIsOpaqueOnlyIfItMayWriteMemory) {
  EXPECT_EQ(summary("addl $1, $0", kMemoryAndRegister), "opaque");
  EXPECT_EQ(summary("addl $0, $1", kMemoryAndRegister), "load");
  EXPECT_EQ(summary("cmpl $1, $0", kMemoryAndRegister), "load");
  EXPECT_EQ(summary("addl $$1, $0", kOneRegister), "");
  EXPECT_EQ(summary("bswap $0", kOneRegister), "");
  EXPECT_EQ(summary("rep movsb", {}), "opaque");
  EXPECT_EQ(summary("syscall", {}), "opaque");
  EXPECT_EQ(summary("xsavec $0", kOneMemory), "opaque");
}

TEST(AsmDecode, AnAddressThatTheAssemblyChangedIsNotTrusted) {
  EXPECT_EQ(summary("clwb ($0); addq $$64, $0; clwb ($0)", kOneRegister), "clwb opaque");
  EXPECT_EQ(summary("mov $0, %rax; clwb (%rax)", kOneRegister), "opaque");
}

TEST(AsmDecode, JumpsMakeEverythingOpaque) {
  EXPECT_EQ(summary("1: clwb ($0); dec $1; jnz 1b", {OperandKind::kRegister, OperandKind::kRegister}), "opaque");
  EXPECT_EQ(summary("test $0, $0; jz 1f; 1:", kOneRegister), "");
}

TEST(AsmDecode, AnyTextIsSafe) {
  const std::string pieces[] = {"$", "{",     "}",  "(",  ")",    "clwb", "lock", ",",
                                ";", ".byte", "0x", "$0", "${0:", "[",    "$$",   "%"};
  uint64_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 8; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += pieces[(state >> 33) % std::size(pieces)];
      if ((state >> 60) % 2 == 0) text += ' ';
    }
    decode_asm(text, round % 2 == 0, kMemoryAndRegister);
  }
}

}  // namespace
}  // namespace powercut::pass
