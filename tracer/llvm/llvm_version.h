// What LLVM 16 and LLVM 19 spell differently; the rest of the pass is one source for both.
#ifndef POWERCUT_TRACER_LLVM_LLVM_VERSION_H_
#define POWERCUT_TRACER_LLVM_LLVM_VERSION_H_

#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/MDBuilder.h>

#include <string>

#if LLVM_VERSION_MAJOR != 16 && LLVM_VERSION_MAJOR != 19
#error "The pass is built and tested for LLVM 16 and LLVM 19."
#endif

namespace powercut::pass {

// 19 takes a string_view, which is not made of a StringRef in 16.
inline std::string demangled(llvm::StringRef name) { return llvm::demangle(name.str()); }

// The weights of a branch that is hardly ever taken; 16 has no name for the numbers of 19.
inline llvm::MDNode* unlikely_branch(llvm::LLVMContext& context) {
  return llvm::MDBuilder(context).createBranchWeights(1, (1u << 20) - 1);
}

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_LLVM_VERSION_H_
