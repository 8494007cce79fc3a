// Different spellings of the LLVMs that the pass is built for; all else is one source for them all.
//
// Pointers have no types: LLVM 14 must be told so (-mllvm -opaque-pointers), later ones are so by default.
#ifndef POWERCUT_TRACER_LLVM_LLVM_VERSION_H_
#define POWERCUT_TRACER_LLVM_LLVM_VERSION_H_

#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/ErrorHandling.h>

#include <string>

#if LLVM_VERSION_MAJOR != 14 && LLVM_VERSION_MAJOR != 15 && LLVM_VERSION_MAJOR != 16 && LLVM_VERSION_MAJOR != 19
#error "The pass is built and tested for LLVM 14, 15, 16 and 19."
#endif

namespace powercut::pass {

inline void require_untyped_pointers(const llvm::LLVMContext& context) {
#if LLVM_VERSION_MAJOR <= 16
  if (!context.supportsTypedPointers()) return;
  llvm::report_fatal_error(
      "powercut: this module has typed pointers. Add -mllvm -opaque-pointers, or compile with "
      "'powercut cc', which does.",
      /*gen_crash_diag=*/false);
#else
  static_cast<void>(context);
#endif
}

// The member functions were renamed in 16, and the old names are gone in 19.
inline bool starts_with(llvm::StringRef text, llvm::StringRef start) { return text.take_front(start.size()) == start; }
inline bool ends_with(llvm::StringRef text, llvm::StringRef end) { return text.take_back(end.size()) == end; }

// 19 takes a string_view, which is not made of a StringRef in the others.
inline std::string demangled(llvm::StringRef name) { return llvm::demangle(name.str()); }

// The weights of a branch that is hardly ever taken; only 19 has a name for the numbers.
inline llvm::MDNode* unlikely_branch(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, (1u << 20) - 1);
}

// Removes promises of a function or a call about memory, which no longer hold. One attribute since 16.
template <typename FunctionOrCall>
void forget_memory_effects(FunctionOrCall& code) {
#if LLVM_VERSION_MAJOR >= 16
  code.removeFnAttr(llvm::Attribute::Memory);
#else
  for (const auto effect :
       {llvm::Attribute::ReadNone, llvm::Attribute::ReadOnly, llvm::Attribute::WriteOnly, llvm::Attribute::ArgMemOnly,
        llvm::Attribute::InaccessibleMemOnly, llvm::Attribute::InaccessibleMemOrArgMemOnly}) {
    code.removeFnAttr(effect);
  }
#endif
}

// A label of "asm goto"; 14 has them among the inputs.
inline bool is_label(const llvm::InlineAsm::ConstraintInfo& constraint) {
#if LLVM_VERSION_MAJOR >= 15
  return constraint.Type == llvm::InlineAsm::isLabel;
#else
  static_cast<void>(constraint);
  return false;
#endif
}

// A fill that must not become a call; 14 has none.
inline bool is_inline_fill(const llvm::IntrinsicInst& call) {
#if LLVM_VERSION_MAJOR >= 15
  return llvm::isa<llvm::MemSetInlineInst>(call);
#else
  static_cast<void>(call);
  return false;
#endif
}

// The first instruction of an entry block behind its allocas of fixed size.
inline llvm::Instruction* first_behind_allocas(llvm::BasicBlock& entry) {
#if LLVM_VERSION_MAJOR >= 16
  return &*entry.getFirstNonPHIOrDbgOrAlloca();
#else
  llvm::BasicBlock::iterator at = entry.getFirstInsertionPt();
  for (; at != entry.end(); ++at) {
    const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&*at);
    if (alloca != nullptr ? !alloca->isStaticAlloca() : !at->isDebugOrPseudoInst()) break;
  }
  return &*at;
#endif
}

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_LLVM_VERSION_H_
