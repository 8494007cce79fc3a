// Locked read-modify-writes and fences.
//
// On x86 every atomicrmw and cmpxchg is a locked instruction, whatever its C11 ordering: it drains the store buffer and
// orders earlier flushes as a fence does. It is therefore announced even when its memory is volatile.
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <optional>

#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {

llvm::Value* announce_rmw(FunctionContext& context, llvm::Instruction& operation, llvm::Instruction* after,
                          llvm::Value* address, uint64_t size, Stored stored) {
  HookTable& hooks = context.hooks();
  if (address->getType()->getPointerAddressSpace() != 0) {
    context.announce_fence(&operation, &operation, POWERCUT_RMW_FENCE);
    return address;
  }
  const llvm::DebugLoc where = context.location(&operation);
  HookBuilder before = context.builder(&operation);
  llvm::Value* inside = context.in_window(before, Window::kStore, address);
  llvm::Instruction* then_end = nullptr;
  llvm::Instruction* else_end = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(inside, &operation, &then_end, &else_end);

  llvm::IRBuilder<> begin(then_end);
  begin.SetCurrentDebugLocation(where);
  llvm::Value* there =
      begin.CreateCall(hooks.hook("__powercut_rmw_begin", {hooks.pointer(), hooks.int64()}, hooks.pointer()),
                       {address, hooks.constant64(size)});

  // Outside the store window the load may still lie in the load window.
  else_end->setDebugLoc(where);
  llvm::Value* elsewhere = context.announce_load(else_end, address, size);
  context.announce_fence(else_end, &operation, POWERCUT_RMW_FENCE);
  llvm::Value* place = context.join(&operation, elsewhere, there, begin.GetInsertBlock());

  if (after == nullptr) return place;
  HookBuilder behind = context.builder(after, &operation);
  llvm::Value* did_store = stored ? stored(behind, place) : hooks.constant32(1);
  HookBuilder end = context.when(inside, after);
  end.SetCurrentDebugLocation(where);
  end.CreateCall(hooks.hook("__powercut_rmw_end", {hooks.pointer(), hooks.int64(), hooks.int32()}),
                 {address, hooks.constant64(size), did_store});
  return place;
}

void instrument_rmw(FunctionContext& context, llvm::AtomicRMWInst& rmw) {
  const uint64_t size = context.hooks().layout().getTypeStoreSize(rmw.getValOperand()->getType()).getFixedValue();
  llvm::Value* place = announce_rmw(context, rmw, rmw.getNextNode(), rmw.getPointerOperand(), size);
  rmw.setOperand(llvm::AtomicRMWInst::getPointerOperandIndex(), place);
}

void instrument_cmpxchg(FunctionContext& context, llvm::AtomicCmpXchgInst& exchange) {
  const llvm::DataLayout& layout = context.hooks().layout();
  const uint64_t size = layout.getTypeStoreSize(exchange.getNewValOperand()->getType()).getFixedValue();
  const auto stored = [&](HookBuilder& builder, llvm::Value*) {
    return builder.CreateZExt(builder.CreateExtractValue(&exchange, 1), context.hooks().int32());
  };
  llvm::Value* place =
      announce_rmw(context, exchange, exchange.getNextNode(), exchange.getPointerOperand(), size, stored);
  exchange.setOperand(llvm::AtomicCmpXchgInst::getPointerOperandIndex(), place);
}

void instrument_fence(FunctionContext& context, llvm::FenceInst& fence) {
  // Weaker fences and those of one thread only restrain the compiler: x86 has no instruction for them.
  if (fence.getOrdering() != llvm::AtomicOrdering::SequentiallyConsistent) return;
  if (fence.getSyncScopeID() == llvm::SyncScope::SingleThread) return;
  context.announce_fence(&fence, &fence, POWERCUT_MFENCE);
}

namespace {

// How libatomic's sized functions (16 bytes without -mcx16, unaligned objects) touch *argument 0.
enum class Access { kLoad, kStore, kModify, kCompare };

std::optional<Access> library_access(llvm::StringRef name) {
  if (name == "load") return Access::kLoad;
  if (name == "store") return Access::kStore;
  if (name == "compare_exchange") return Access::kCompare;
  if (name == "exchange" || starts_with(name, "fetch_") || ends_with(name, "_fetch")) return Access::kModify;
  return std::nullopt;
}

}  // namespace

// __atomic_<access>_<size>(object, ...). Aligned objects of these sizes are lock-free in libatomic, so every
// one of them is a locked instruction there too.
bool instrument_atomic_call(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return false;
  llvm::StringRef name = callee->getName();
  if (!name.consume_front("__atomic_")) return false;
  const auto [verb, digits] = name.rsplit('_');
  unsigned size = 0;
  const std::optional<Access> access = library_access(verb);
  if (!access || digits.getAsInteger(10, size) || (size != 1 && size != 2 && size != 4 && size != 8 && size != 16)) {
    return false;
  }
  llvm::Value* object = call.getArgOperand(0);
  if (*access == Access::kLoad) {
    call.setArgOperand(0, context.announce_load(&call, object, size));
    return true;
  }
  const bool answers = *access == Access::kCompare && call.getType()->isIntegerTy();
  const auto stored = [&](HookBuilder& builder, llvm::Value*) -> llvm::Value* {
    if (!answers) return context.hooks().constant32(1);
    return builder.CreateZExtOrTrunc(&call, context.hooks().int32());
  };
  call.setArgOperand(0, announce_rmw(context, call, after_call(call), object, size, stored));
  return true;
}

}  // namespace powercut::pass
