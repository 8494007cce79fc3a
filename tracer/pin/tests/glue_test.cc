// The Pintool itself, over a Pin that the test plays (fake_pin.h).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <fstream>

#include "powercut/mark.h"
#include "tracer/pin/tests/fake_pin.h"
#include "tracer/pin/tests/program.h"

namespace powercut::pin {
namespace {

using fake_pin::Instruction;
using fake_pin::Machine;
using enum REG;
using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

class GlueTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.options["stream"] = {path_};
    start();
  }
  void start() {
    ASSERT_EQ(machine_.start(), -1);
    ASSERT_TRUE(machine_.started);
    machine_.image_loaded(IMG{0}, nullptr);
    machine_.image_loaded(IMG{1}, nullptr);
    machine_.thread_starts(0, &machine_.context, 0, nullptr);
    mark(POWERCUT_MARK_POOL, base(), sizeof memory_);
  }

  uint64_t base() const { return reinterpret_cast<uint64_t>(memory_); }

  Instruction* code(std::vector<UINT8> bytes, std::vector<fake_pin::MemoryOperand> operands = {}) {
    made_.push_back(std::make_unique<Instruction>());
    made_.back()->bytes = std::move(bytes);
    made_.back()->operands = std::move(operands);
    return made_.back().get();
  }
  // mov [...], rax and such: one operand that is written.
  Instruction* store(std::vector<UINT8> bytes, uint64_t offset, UINT32 size) {
    Instruction* made = code(std::move(bytes), {{.written = true, .address = base() + offset, .size = size}});
    machine_.translate(made);
    return made;
  }
  void mark(uint64_t number, uint64_t a = 0, uint64_t b = 0) {
    Instruction* request =
        code({0x48, 0xC1, 0xC7, 3, 0x48, 0xC1, 0xC7, 13, 0x48, 0xC1, 0xC7, 61, 0x48, 0xC1, 0xC7, 51, 0x48, 0x87, 0xDB});
    request->starts = 16;
    machine_.translate(request);
    const uint64_t arguments[6] = {number, a, b};
    machine_.context.registers[REG_RAX] = reinterpret_cast<uint64_t>(arguments);
    machine_.execute(request, [] {});
  }
  // Returns the lines of all records after the pool was mapped.
  Lines lines() {
    machine_.finish(3, nullptr);
    Lines all = lines_of(path_, base());
    EXPECT_THAT(Lines(all.begin(), all.begin() + 4),
                ElementsAre("module program", "start 0", "pool 0 ", "map 0 0 256 0"));
    EXPECT_EQ(all.back(), "exit 3");
    return Lines(all.begin() + 4, all.end() - 1);
  }

  Folder folder_;
  const std::string path_ = folder_.file("stream");
  Machine machine_;
  std::vector<std::unique_ptr<Instruction>> made_;
  alignas(64) uint8_t memory_[256] = {};
};

TEST_F(GlueTest, AStoreHasItsBytesAndItsStack) {
  Instruction* mov = store({0x48, 0x89, 0x07}, 8, 8);
  const uint64_t ip = reinterpret_cast<uint64_t>(mov->bytes.data());
  machine_.context.backtrace = {ip, 0x400010, 0x400020};
  machine_.execute(mov, [&] { memcpy(memory_ + 8, "abcdefgh", 8); });
  machine_.execute(mov, [] {});
  EXPECT_THAT(lines(), ElementsAre("stack 0:16 0:32", "store 0 8 6162636465666768", "store 0 8 6162636465666768"));
}

TEST_F(GlueTest, TheInnermostFrameIsBehindTheInstruction) {
  Instruction* mov = store({0x48, 0x89, 0x47, 0x08}, 0, 8);
  machine_.code = reinterpret_cast<uint64_t>(mov->bytes.data());
  machine_.image_loaded(IMG{2}, nullptr);
  machine_.context.backtrace = {machine_.code, 0x400010};
  machine_.execute(mov, [] {});
  machine_.image_unloaded(IMG{2}, nullptr);
  machine_.execute(mov, [] {});
  // A symboliser takes 1 off: the first is within the instruction of 4 bytes.
  EXPECT_THAT(lines(),
              ElementsAre("stack 0:4 0:16", "store 0 0 0000000000000000", "stack 0:16", "store 0 0 0000000000000000"));
}

TEST_F(GlueTest, StoresElsewhereCostNoStack) {
  Instruction* mov = store({0x48, 0x89, 0x07}, 4096, 8);
  const int before = machine_.backtraces;
  machine_.execute(mov, [] {});
  EXPECT_EQ(machine_.backtraces, before);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(GlueTest, FlushesAreRecordedByTheirTrueKindAndNotExecuted) {
  Instruction* clwb = code({0x66, 0x0F, 0xAE, 0x74, 0xCF, 0x08});  // clwb [rdi+rcx*8+8]
  Instruction* clflushopt = code({0x66, 0x41, 0x0F, 0xAE, 0x38});  // clflushopt [r8]
  Instruction* clflush = code({0x64, 0x0F, 0xAE, 0x3F});           // clflush fs:[rdi]
  Instruction* elsewhere = code({0x66, 0x0F, 0xAE, 0x33});         // clwb [rbx]
  for (Instruction* flush : {clwb, clflushopt, clflush, elsewhere}) machine_.translate(flush);
  auto& registers = machine_.context.registers;
  registers[REG_RDI] = base() + 40;
  registers[REG_RCX] = 2;
  registers[REG_R8] = base() + 191;
  registers[REG_RBX] = base() + 256;
  machine_.execute(clwb, [] { FAIL() << "executed"; });
  machine_.execute(clflushopt, [] { FAIL() << "executed"; });
  machine_.execute(elsewhere, [] { FAIL() << "executed"; });
  registers[REG_RDI] = 3;
  registers[REG_SEG_FS_BASE] = base() + 60;
  machine_.execute(clflush, [] { FAIL() << "executed"; });
  EXPECT_THAT(lines(), ElementsAre("flush 0 64 1", "flush 0 128 2", "flush 0 0 3"));
}

TEST_F(GlueTest, FencesButNotThoseOfLoads) {
  for (const UINT8 modrm : {0xF8, 0xF0, 0xE8}) {  // sfence, mfence, lfence
    Instruction* fence = code({0x0F, 0xAE, modrm});
    machine_.translate(fence);
    machine_.execute(fence, [] {});
  }
  EXPECT_THAT(lines(), ElementsAre("fence 0 1", "fence 0 2"));
}

TEST_F(GlueTest, CompareAndExchangeStoresOnlyWhenItFoundWhatItExpected) {
  Instruction* cmpxchg = store({0xF0, 0x0F, 0xB0, 0x17}, 0, 1);
  machine_.execute(cmpxchg, [&] {
    memory_[0] = 7;
    machine_.context.registers[REG_RFLAGS] = 0x246;
  });
  machine_.execute(cmpxchg, [&] { machine_.context.registers[REG_RFLAGS] = 0x202; });
  EXPECT_THAT(lines(), ElementsAre("fence 0 3", "store 0 0 07 atomic rmw", "fence 0 3"));
}

TEST_F(GlueTest, ALockElsewhereIsAFenceWhereOneCanMatter) {
  Instruction* lock = store({0xF0, 0xFF, 0x07}, 8192, 4);        // lock inc [...]
  Instruction* beside = store({0x87, 0x07}, sizeof memory_, 4);  // xchg, near the pool and outside of it
  Instruction* clwb = code({0x66, 0x0F, 0xAE, 0x37});
  machine_.translate(clwb);
  machine_.context.registers[REG_RDI] = base();
  machine_.execute(lock, [] {});
  machine_.execute(clwb, [] {});
  machine_.execute(lock, [] {});
  machine_.execute(lock, [] {});
  machine_.execute(clwb, [] {});
  machine_.execute(beside, [] {});
  machine_.execute(beside, [] {});
  EXPECT_THAT(lines(), ElementsAre("flush 0 0 1", "fence 0 3", "flush 0 0 1", "fence 0 3"));
}

TEST_F(GlueTest, RepeatedStoresAreOneForEachRound) {
  Instruction* stos = store({0xF3, 0xAA}, 0, 1);
  for (int i = 0; i < 3; ++i) {
    stos->operands[0].address = base() + static_cast<uint64_t>(i);
    machine_.execute(stos, [&] { memory_[i] = 0x11; });
  }
  machine_.execute(stos, [] {}, /*predicate=*/false);  // the count is 0
  EXPECT_THAT(lines(), ElementsAre("store 0 0 11 string", "store 0 1 11 string more", "store 0 2 11 string more"));
}

TEST_F(GlueTest, RoundsCountAlsoWithoutACallbackAfterEach) {
  Instruction* stos = code({0xF3, 0xAA}, {{.written = true, .address = base(), .size = 1}});
  stos->has_after = false;
  machine_.translate(stos);
  machine_.execute(stos, [&] { memory_[0] = 0x22; });
  stos->operands[0].address = base() + 1;
  machine_.execute(stos, [&] { memory_[1] = 0x33; });
  machine_.thread_ends(0, &machine_.context, 0, nullptr);
  EXPECT_THAT(lines(), ElementsAre("store 0 0 22 string", "store 0 1 33 string more", "end 0"));
}

TEST_F(GlueTest, NonTemporalStores) {
  Instruction* movnti = store({0x0F, 0xC3, 0x07}, 16, 4);
  machine_.execute(movnti, [&] { memcpy(memory_ + 16, "wxyz", 4); });
  EXPECT_THAT(lines(), ElementsAre("store 0 16 7778797a nt"));
}

TEST_F(GlueTest, ScattersAreTheirElements) {
  Instruction* scatter = code({0x62, 0xF2, 0x7D, 0x49, 0xA0, 0x04, 0x07}, {{.written = true}});
  scatter->scattered = true;
  scatter->elements.all = {
      {base() + 64, 4, true}, {base() + 32, 4, false}, {base() + 8192, 4, true}, {base(), 4, true}};
  machine_.translate(scatter);
  machine_.execute(scatter, [&] {
    memory_[64] = 1;
    memory_[0] = 2;
  });
  EXPECT_THAT(lines(), ElementsAre("store 0 64 01000000", "store 0 0 02000000 more"));
}

TEST_F(GlueTest, CompressingStoresAreShorter) {
  Instruction* compress = store({0x62, 0xF2, 0x7D, 0x49, 0x8B, 0x07}, 0, 64);
  compress->elements.base = base();
  compress->elements.all = {{base(), 4, false}, {base() + 4, 4, true}, {base() + 8, 4, true}, {base() + 12, 4, false}};
  machine_.execute(compress, [&] { memset(memory_, 9, 8); });
  EXPECT_THAT(lines(), ElementsAre("store 0 0 0909090909090909"));
}

TEST_F(GlueTest, AMaskThatPinDoesNotTellIsReadOffTheMemory) {
  Instruction* masked = code({0x62, 0xF1, 0x7C, 0x49, 0x11, 0x07}, {{.written = true, .address = base(), .size = 64}});
  masked->tells_elements = false;
  machine_.translate(masked);
  machine_.execute(masked, [&] { memory_[4] = 5; });
  Instruction* scatter = code({0x62, 0xF2, 0x7D, 0x49, 0xA0, 0x04, 0x07}, {{.written = true}});
  scatter->scattered = true;
  scatter->tells_elements = false;
  machine_.translate(scatter);
  EXPECT_THAT(lines(), ElementsAre("store 0 4 05",
                                   "note 4 this version of Pin does not tell where a scatter stores: not recorded"));
}

TEST_F(GlueTest, MaskedBytesAreThoseOfTheRegister) {
  Instruction* maskmov = store({0x66, 0x41, 0x0F, 0xF7, 0xC3}, 32, 16);  // maskmovdqu xmm0, xmm11
  maskmov->vector_register[1] = maskmov->vector_register[2] = maskmov->vector_register[15] = 0x80;
  machine_.execute(maskmov, [&] { memory_[33] = memory_[34] = memory_[47] = 6; });
  EXPECT_EQ(maskmov->referenced, REG_XMM0 + 11);
  EXPECT_THAT(lines(), ElementsAre("store 0 33 0606 nt", "store 0 47 06 nt more"));
}

TEST_F(GlueTest, ACallPushesBeforeItJumps) {
  Instruction* call = code({0xE8, 0, 0, 0, 0}, {{.written = true, .address = base() + 248, .size = 8}});
  call->has_after = false;
  call->has_taken = true;
  machine_.translate(call);
  machine_.execute(call, [&] { memory_[248] = 1; }, true, IPOINT_TAKEN_BRANCH);
  memory_[248] = 2;
  EXPECT_THAT(lines(), ElementsAre("store 0 248 0100000000000000"));
}

TEST_F(GlueTest, TheProcessorSeemsToKnowEveryFlush) {
  Instruction* cpuid = code({0x0F, 0xA2});
  machine_.translate(cpuid);
  auto& registers = machine_.context.registers;
  registers[REG_RAX] = 7;
  registers[REG_RCX] = 0;
  machine_.execute(cpuid, [&] {
    registers[REG_RBX] = 1;
    registers[REG_RAX] = registers[REG_RCX] = 0;
  });
  EXPECT_EQ(registers[REG_RBX], 1u | 1u << 23 | 1u << 24);
  registers[REG_RAX] = 1;
  machine_.execute(cpuid, [&] { registers[REG_RBX] = 1; });
  EXPECT_EQ(registers[REG_RBX], 1u);
}

TEST_F(GlueTest, MarksAreAnsweredAndOtherRequestsAreNot) {
  mark(POWERCUT_MARK_ACTIVE);
  EXPECT_EQ(machine_.context.registers[REG_RDX], 1u);
  machine_.context.registers[REG_RDX] = 5;
  mark(0x1001);  // RUNNING_ON_VALGRIND
  EXPECT_EQ(machine_.context.registers[REG_RDX], 5u);
  mark(POWERCUT_MARK_POINT, reinterpret_cast<uint64_t>("here"));
  // An exchange like a request's, without the rotations before it, is an instruction of the program.
  Instruction* exchange = code({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
                                0x90, 0x90, 0x48, 0x87, 0xDB});
  exchange->starts = 16;
  machine_.translate(exchange);
  EXPECT_THAT(exchange->calls, IsEmpty());
  EXPECT_THAT(lines(), ElementsAre("marker here"));
}

TEST_F(GlueTest, LoadsOnlyWhenAsked) {
  const fake_pin::MemoryOperand source = {.read = true, .address = base() + 8, .size = 8};
  Instruction* mov = code({0x48, 0x8B, 0x07}, {source});
  machine_.translate(mov);
  EXPECT_THAT(mov->calls, IsEmpty());
  machine_.options["loads"] = {"1"};
  Instruction* again = code({0x48, 0x8B, 0x07}, {source});
  machine_.translate(again);
  machine_.execute(again, [] {});
  Instruction* gather = code({0x62, 0xF2, 0x7D, 0x49, 0x90, 0x04, 0x07}, {{.read = true}});
  gather->scattered = true;
  gather->elements.all = {{base() + 64, 4, true}, {base() + 32, 4, false}, {base() + 8192, 4, true}};
  machine_.translate(gather);
  machine_.execute(gather, [] {});
  EXPECT_THAT(lines(), ElementsAre("load 0 8 8", "load 0 64 4"));
}

TEST_F(GlueTest, SystemCallsMapPoolsAndCannotCloseTheStream) {
  const std::string pool = folder_.file("pool");
  std::ofstream(pool).close();
  std::filesystem::resize_file(pool, 4096);
  machine_.finish(0, nullptr);
  machine_.options["pool"] = {pool};
  start();
  const int file = open(pool.c_str(), O_RDWR);
  CONTEXT& context = machine_.context;
  context.backtrace = {0x400123};
  const auto call = [&](ADDRINT number, std::vector<ADDRINT> arguments, ADDRINT error = 0) {
    context.call_number = number;
    std::copy(arguments.begin(), arguments.end(), context.call_arguments);
    machine_.call_begins(0, &context, SYSCALL_STANDARD_IA32E_LINUX, nullptr);
    context.call_errno = error;
    if (error == 0) {
      context.call_result = static_cast<ADDRINT>(syscall(
          static_cast<long>(number), context.call_arguments[0], context.call_arguments[1], context.call_arguments[2],
          context.call_arguments[3], context.call_arguments[4], context.call_arguments[5]));
    }
    machine_.call_ends(0, &context, SYSCALL_STANDARD_IA32E_LINUX, nullptr);
  };
  const auto descriptor = static_cast<ADDRINT>(file);
  call(SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0});
  const ADDRINT at = context.call_result;
  call(SYS_fsync, {descriptor}, EIO);  // it failed
  call(SYS_fsync, {descriptor});
  call(SYS_munmap, {at, 4096});
  // None of these calls closes the stream's descriptor, whatever its number is.
  for (ADDRINT each = 500; each < 1100; ++each) call(SYS_close, {each});
  close(file);
  machine_.finish(0, nullptr);
  const Lines all = lines_of(path_, at);
  EXPECT_THAT(Lines(all.end() - 5, all.end()),
              ElementsAre("stack 0:291", "map 0 0 4096 0", "sync 2 0 0 18446744073709551615", "unmap 0 4096", "exit 0"))
      << testing::PrintToString(all);
}

TEST_F(GlueTest, ForksAreNotedAndTheChildIsNotRecorded) {
  machine_.forked_parent(0, &machine_.context, nullptr);
  EXPECT_THAT(lines(), ElementsAre("note 1 the program started a child: it was not recorded"));
  Machine child;
  child.options["stream"] = {path_};
  ASSERT_EQ(child.start(), -1);
  child.thread_starts(0, &child.context, 0, nullptr);
  child.forked_child(0, &child.context, nullptr);
  child.finish(0, nullptr);
  EXPECT_THAT(lines_of(path_), IsEmpty());
}

TEST_F(GlueTest, AFaultingStoreDidNotHappen) {
  Instruction* mov = store({0x48, 0x89, 0x07}, 0, 8);
  // The callback before the instruction comes, then a signal in place of the callback after it.
  machine_.execute(
      mov,
      [&] {
        machine_.context_changes(0, CONTEXT_CHANGE_REASON_SIGNAL, &machine_.context, &machine_.context, 11, nullptr);
      },
      true, IPOINT_ANYWHERE);
  machine_.execute(mov, [&] { memory_[0] = 1; });
  EXPECT_THAT(lines(), ElementsAre("store 0 0 0100000000000000"));
}

TEST_F(GlueTest, ADeadlySignalIsTheEnd) {
  machine_.context_changes(0, CONTEXT_CHANGE_REASON_FATALSIGNAL, &machine_.context, nullptr, 6, nullptr);
  machine_.finish(0, nullptr);  // comes all the same
  EXPECT_EQ(lines_of(path_).back(), "signal 6");
}

TEST(GlueOptions, WhatIsMissingIsSaid) {
  Machine machine;
  testing::internal::CaptureStderr();
  EXPECT_EQ(machine.start(), 1);
  machine.options["stream"] = {"/no/such/folder/stream"};
  EXPECT_EQ(machine.start(), 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("needs -stream FILE"), testing::HasSubstr("cannot write /no/such")));
  EXPECT_FALSE(machine.started);
}

}  // namespace
}  // namespace powercut::pin
