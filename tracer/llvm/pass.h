// The instrumentation pass. It runs once for a module, at the end of the optimisation pipeline (at -O0 too). It thus
// sees the stores that the compiler decided to make.
//
// Known inaccuracies: the hooks keep the code generator from merging or moving stores, which it could do in a
// build without them; stores of the code generator itself (spills, the copy of a by-value argument) are not
// seen, and go to the stack.
#ifndef POWERCUT_TRACER_LLVM_PASS_H_
#define POWERCUT_TRACER_LLVM_PASS_H_

#include <llvm/IR/PassManager.h>

namespace powercut::pass {

class InstrumentPass : public llvm::PassInfoMixin<InstrumentPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
  // Functions marked optnone (all at -O0) are instrumented too.
  static bool isRequired() { return true; }
};

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_PASS_H_
