// The step budget: every loop iteration and every function entry takes one step. A recovery that never ends is thus
// stopped at the same point in every run.
#include <llvm/Analysis/CFG.h>

#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"

namespace powercut::pass {
namespace {

void take_step(FunctionContext& context, llvm::Instruction* at) {
  HookTable& hooks = context.hooks();
  HookBuilder before = context.builder(at);
  llvm::GlobalVariable* steps = hooks.steps();
  llvm::Value* left =
      before.CreateSub(before.CreateAlignedLoad(hooks.int64(), steps, llvm::Align(8)), hooks.constant64(1));
  before.CreateAlignedStore(left, steps, llvm::Align(8));
  HookBuilder spent = context.when(before.CreateICmpSLT(left, hooks.constant64(0)), at);
  spent.CreateCall(hooks.hook("__powercut_out_of_steps", {}));
}

}  // namespace

void count_steps(FunctionContext& context) {
  llvm::Function& function = context.function();
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
  llvm::FindFunctionBackedges(function, edges);
  // A latch with several back-edges takes one step; a conditional one takes it on its way out as well.
  llvm::SmallPtrSet<const llvm::BasicBlock*, 8> latches;
  llvm::SmallVector<llvm::Instruction*, 8> places;
  for (const auto& [from, to] : edges) latches.insert(from);
  for (llvm::BasicBlock& block : function) {
    if (latches.contains(&block)) places.push_back(block.getTerminator());
  }
  for (llvm::Instruction* place : places) take_step(context, place);

  llvm::Instruction* entry = first_behind_allocas(function.getEntryBlock());
  take_step(context, entry);
}

}  // namespace powercut::pass
