// Which functions stay as they are.
#ifndef POWERCUT_TRACER_LLVM_SKIP_H_
#define POWERCUT_TRACER_LLVM_SKIP_H_

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>

namespace powercut::pass {

class SkippedFunctions {
 public:
  explicit SkippedFunctions(llvm::Module& module);
  bool contains(const llvm::Function& function) const;

 private:
  llvm::SmallPtrSet<const llvm::Function*, 8> named_;  // marked in the source, or resolvers of ifuncs
};

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_SKIP_H_
