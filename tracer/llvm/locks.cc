// Locks of pthread. Their locked instruction orders earlier flushes as a fence does.
//
// Known inaccuracies: taking a recursive mutex that the thread already holds executes no locked instruction,
// and is announced as a fence all the same. pthread_spin_unlock is a plain store and is no fence.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "tracer/llvm/instrument.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

enum class When { kNever, kBefore, kAfter, kAround, kAfterSuccess };

When fence_of(llvm::StringRef name) {
  return llvm::StringSwitch<When>(name)
      .Cases("pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", When::kAfter)
      // Tries once with a locked compare-and-swap, which fences even when it fails.
      .Cases("pthread_mutex_trylock", "pthread_spin_lock", "pthread_spin_trylock", When::kAfter)
      .Cases("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", When::kAfter)
      .Cases("pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock", When::kAfter)
      // Look at the lock with plain loads first and may give up there.
      .Cases("pthread_rwlock_tryrdlock", "pthread_rwlock_trywrlock", When::kAfterSuccess)
      .Cases("pthread_mutex_unlock", "pthread_rwlock_unlock", When::kBefore)
      // Unlock the mutex, wait, and lock it again.
      .Cases("pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", When::kAround)
      .Default(When::kNever);
}

// Functions that wait, which tracer/runtime/lock_calls.cc stands in for.
void replace_wait(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  const bool waits = llvm::StringSwitch<bool>(callee->getName())
                         .Cases("pthread_mutex_lock", "pthread_spin_lock", "sem_wait", true)
                         .Cases("pthread_rwlock_rdlock", "pthread_rwlock_wrlock", true)
                         .Default(false);
  if (!waits) return;
  call.setCalledFunction(context.hooks().module().getOrInsertFunction(("__powercut_" + callee->getName()).str(),
                                                                      callee->getFunctionType()));
  if (auto* plain = llvm::dyn_cast<llvm::CallInst>(&call); plain != nullptr && !plain->isMustTailCall()) {
    plain->setTailCallKind(llvm::CallInst::TCK_NoTail);
  }
}

}  // namespace

llvm::Instruction* after_call(llvm::CallBase& call) {
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
    llvm::BasicBlock* normal = invoke->getNormalDest();
    // Others may arrive there too: a block of its own for this edge.
    if (normal->getSinglePredecessor() == nullptr) normal = llvm::SplitEdge(invoke->getParent(), normal);
    return &*normal->getFirstInsertionPt();
  }
  auto* plain = llvm::dyn_cast<llvm::CallInst>(&call);
  if (plain == nullptr || plain->isMustTailCall()) return nullptr;
  plain->setTailCallKind(llvm::CallInst::TCK_NoTail);
  return plain->getNextNode();
}

bool instrument_lock_call(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return false;
  const When when = fence_of(callee->getName());
  const bool semaphore = callee->getName() == "sem_wait";
  if (when == When::kNever && !semaphore) return false;
  replace_wait(context, call);
  if (semaphore) return true;
  if (when == When::kBefore || when == When::kAround) context.announce_fence(&call, &call, POWERCUT_LOCK_FENCE);
  if (when == When::kBefore) return true;
  llvm::Instruction* after = after_call(call);
  if (after == nullptr) return true;
  if (when == When::kAfterSuccess) {
    llvm::Value* taken = context.builder(after, &call).CreateIsNull(&call);
    after = &*context.when(taken, after).GetInsertPoint();
  }
  context.announce_fence(after, &call, POWERCUT_LOCK_FENCE);
  return true;
}

}  // namespace powercut::pass
