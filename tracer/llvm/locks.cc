// Locks, and whatever else code asks of other threads: each call goes to a stand-in of the runtime
// (tracer/runtime/thread_hooks.h). The locked instruction of a lock orders earlier flushes as a fence does.
//
// Known inaccuracies: taking a recursive mutex that the thread already holds executes no locked instruction, and is
// announced as a fence all the same. An unlock by pthread_spin_unlock is a plain store and is no fence. Semaphores,
// barriers and the start of a thread fence in truth, and are not announced.
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/thread_stand_ins.h"

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
      // C11's and std::condition_variable's are made of these.
      .Cases("mtx_lock", "mtx_timedlock", "mtx_trylock", When::kAfter)
      .Case("mtx_unlock", When::kBefore)
      .Cases("cnd_wait", "cnd_timedwait", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", When::kAround)
      .Default(When::kNever);
}

const llvm::StringSet<>& thread_stand_ins() {
  static const llvm::StringSet<> names = [] {
    llvm::StringSet<> out;
    for (const char* name : kThreadStandIns) out.insert(name);
    return out;
  }();
  return names;
}

void replace_by_stand_in(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  call.setCalledFunction(context.hooks().module().getOrInsertFunction(("__powercut_" + callee->getName()).str(),
                                                                      callee->getFunctionType()));
  // The stand-in runs a listener, and other threads.
  forget_memory_effects(call);
  call.removeFnAttr(llvm::Attribute::NoCallback);
  call.removeFnAttr(llvm::Attribute::NoSync);
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

bool instrument_thread_call(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration() || !thread_stand_ins().contains(callee->getName())) return false;
  const When when = fence_of(callee->getName());
  replace_by_stand_in(context, call);
  if (when == When::kNever) return true;
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
