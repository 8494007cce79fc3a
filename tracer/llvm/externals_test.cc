#include "tracer/llvm/externals.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace powercut::pass {
namespace {

using Names = std::set<std::string>;

class ExternalsTest : public testing::Test {
 protected:
  // Notes every call of the module.
  Names names_of(const char* ir) {
    llvm::SMDiagnostic diagnostic;
    module_ = llvm::parseAssemblyString(ir, diagnostic, context_);
    EXPECT_NE(module_, nullptr) << diagnostic.getMessage().str();
    Externals externals;
    for (const llvm::Function& function : *module_) {
      for (const llvm::BasicBlock& block : function) {
        for (const llvm::Instruction& instruction : block) {
          if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) externals.note_call(*call);
        }
      }
    }
    return externals.names();
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(ExternalsTest, NamesUnknownFunctionsDemangled) {
  EXPECT_EQ(names_of(R"(
    declare void @_ZN3foo3barEi(i32)
    declare void @plain()
    define void @f() {
      call void @_ZN3foo3barEi(i32 1)
      call void @plain()
      call void @plain()
      ret void
    })"),
            (Names{"foo::bar(int)", "plain"}));
}

TEST_F(ExternalsTest, LeavesOutWhatIsHarmlessOrDefined) {
  EXPECT_EQ(names_of(R"(
    declare ptr @malloc(i64)
    declare ptr @_Znwm(i64)
    declare double @sin(double)
    declare void @abort()
    declare i32 @pthread_join(i64, ptr)
    declare i32 @pure(i32) memory(none)
    declare void @__powercut_fence(i32)
    declare void @powercut_mark(ptr)
    define void @defined() { ret void }
    define void @f(ptr %through) {
      %1 = call ptr @malloc(i64 1)
      %2 = call ptr @_Znwm(i64 1)
      %3 = call double @sin(double 1.0)
      call void @abort()
      %4 = call i32 @pthread_join(i64 0, ptr null)
      %5 = call i32 @pure(i32 1)
      call void @__powercut_fence(i32 1)
      call void @powercut_mark(ptr null)
      call void @defined()
      call void %through()
      ret void
    })"),
            Names{});
}

TEST_F(ExternalsTest, PrintingIsHarmlessOnlyFromOwnMemory) {
  EXPECT_EQ(names_of(R"(
    @text = private constant [3 x i8] c"%s\00"
    @stderr = external global ptr
    declare i32 @printf(ptr, ...)
    declare i32 @fprintf(ptr, ptr, ...)
    declare i32 @puts(ptr)
    define void @f(ptr %unknown) {
      %local = alloca [8 x i8]
      %1 = call i32 (ptr, ...) @printf(ptr @text, ptr %local)
      %stream = load ptr, ptr @stderr
      %2 = call i32 (ptr, ptr, ...) @fprintf(ptr %stream, ptr @text, i32 5)
      %3 = call i32 @puts(ptr %unknown)
      ret void
    })"),
            Names{"puts"});
}

TEST_F(ExternalsTest, UnknownIntrinsicsThatTouchMemoryAreNamed) {
  EXPECT_EQ(names_of(R"(
    declare void @llvm.x86.fxsave(ptr)
    declare void @llvm.lifetime.start.p0(i64, ptr)
    declare void @llvm.assume(i1)
    declare i32 @llvm.ctpop.i32(i32)
    define void @f(ptr %p) {
      call void @llvm.x86.fxsave(ptr %p)
      call void @llvm.lifetime.start.p0(i64 8, ptr %p)
      call void @llvm.assume(i1 true)
      %1 = call i32 @llvm.ctpop.i32(i32 1)
      ret void
    })"),
            Names{"intrinsic: llvm.x86.fxsave"});
}

TEST_F(ExternalsTest, AssemblyIsOneShortLine) {
  Externals externals;
  externals.note_asm("\trep movsb\n\t  nop\n");
  externals.note_asm(std::string(1000, 'x'));
  EXPECT_TRUE(externals.names().contains("asm: rep movsb nop"));
  for (const std::string& name : externals.names()) EXPECT_LT(name.size(), 220u);
}

TEST_F(ExternalsTest, DefinedFunctionsAreThoseThatOthersCanCall) {
  names_of(R"(
    define void @_Z3fooi(i32 %x) { ret void }
    define internal void @hidden() { ret void }
    define linkonce_odr void @inlined() { ret void }
    declare void @elsewhere()
    )");
  EXPECT_EQ(defined_functions(*module_), (std::vector<std::string>{"foo(int)", "inlined"}));
}

}  // namespace
}  // namespace powercut::pass
