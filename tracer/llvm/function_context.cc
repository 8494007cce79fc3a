#include "tracer/llvm/function_context.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

// Offset of `address` in its underlying object when that is a constant.
const llvm::Value* base_of(const llvm::Value* address, uint64_t size,
                           uint64_t object_size(const llvm::Value*, const llvm::DataLayout&),
                           const llvm::DataLayout& layout) {
  llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
  const llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
  const uint64_t available = object_size(base, layout);
  if (offset.isNegative() || offset.ugt(available)) return nullptr;
  return size <= available - offset.getZExtValue() ? base : nullptr;
}

uint64_t stack_size(const llvm::Value* base, const llvm::DataLayout& layout) {
  const auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(base);
  if (alloca == nullptr) return 0;
  const auto bits = alloca->getAllocationSizeInBits(layout);
  return bits && !bits->isScalable() ? bits->getFixedValue() / 8 : 0;
}

uint64_t constant_size(const llvm::Value* base, const llvm::DataLayout& layout) {
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(base);
  if (global == nullptr || !global->isConstant() || !global->hasDefinitiveInitializer()) return 0;
  return layout.getTypeAllocSize(global->getValueType()).getFixedValue();
}

}  // namespace

bool is_own_stack(const llvm::Value* address, uint64_t size, const llvm::DataLayout& layout) {
  return size != 0 && base_of(address, size, stack_size, layout) != nullptr;
}

bool is_constant_data(const llvm::Value* address, uint64_t size, const llvm::DataLayout& layout) {
  return size != 0 && base_of(address, size, constant_size, layout) != nullptr;
}

FunctionContext::FunctionContext(llvm::Function& function, HookTable& hooks, Externals& externals)
    : function_(function), hooks_(hooks), externals_(externals) {
  hoist_allocas();
}

// Guards split the entry block. An alloca behind the split would become a dynamic one, so all of fixed size go
// to the top first.
void FunctionContext::hoist_allocas() {
  llvm::BasicBlock& entry = function_.getEntryBlock();
  llvm::SmallVector<llvm::AllocaInst*, 16> late;
  bool past_first = false;
  for (llvm::Instruction& instruction : entry) {
    auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (alloca == nullptr) {
      past_first = true;
    } else if (past_first && alloca->isStaticAlloca()) {
      late.push_back(alloca);
    }
  }
  for (llvm::AllocaInst* alloca : late) alloca->moveBefore(entry, entry.begin());
}

llvm::DebugLoc FunctionContext::location(const llvm::Instruction* source) const {
  if (source != nullptr && source->getDebugLoc()) return source->getDebugLoc();
  llvm::DISubprogram* subprogram = function_.getSubprogram();
  if (subprogram == nullptr) return {};
  return llvm::DILocation::get(function_.getContext(), subprogram->getScopeLine(), 0, subprogram);
}

HookBuilder FunctionContext::builder(llvm::Instruction* at, const llvm::Instruction* source) {
  return HookBuilder(at, location(source));
}

llvm::Value* FunctionContext::in_window(llvm::IRBuilder<>& builder, Window window, llvm::Value* address) {
  llvm::GlobalVariable* global = hooks_.window(window);
  llvm::Type* type = hooks_.window_type();
  llvm::IntegerType* int64 = hooks_.int64();
  llvm::Value* base = builder.CreateAlignedLoad(int64, builder.CreateStructGEP(type, global, 0), llvm::Align(8));
  llvm::Value* span = builder.CreateAlignedLoad(int64, builder.CreateStructGEP(type, global, 1), llvm::Align(8));
  llvm::Value* distance = builder.CreateSub(builder.CreatePtrToInt(address, int64), base);
  return builder.CreateICmpULT(distance, span);
}

HookBuilder FunctionContext::when(llvm::Value* condition, llvm::Instruction* at) {
  llvm::MDNode* unlikely = unlikely_branch(function_.getContext());
  const llvm::DebugLoc where = location(at);
  llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(condition, at, /*Unreachable=*/false, unlikely);
  return HookBuilder(then, where);
}

HookBuilder FunctionContext::when_in_window(Window window, llvm::Value* address, llvm::Instruction* at) {
  HookBuilder before = builder(at);
  return when(in_window(before, window, address), at);
}

llvm::AllocaInst* FunctionContext::slot(Slot which, uint64_t size) {
  llvm::AllocaInst*& alloca = slots_[static_cast<size_t>(which)];
  llvm::Type* byte = llvm::Type::getInt8Ty(function_.getContext());
  if (alloca == nullptr) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    llvm::IRBuilder<> top(&entry, entry.begin());
    alloca = top.CreateAlloca(llvm::ArrayType::get(byte, size), nullptr, "powercut.slot");
    alloca->setAlignment(llvm::Align(16));
  } else if (llvm::cast<llvm::ArrayType>(alloca->getAllocatedType())->getNumElements() < size) {
    alloca->setAllocatedType(llvm::ArrayType::get(byte, size));
  }
  return alloca;
}

llvm::Value* FunctionContext::spill(llvm::IRBuilder<>& builder, Slot which, llvm::Value* value) {
  llvm::AllocaInst* target = slot(which, hooks_.layout().getTypeStoreSize(value->getType()).getFixedValue());
  builder.CreateAlignedStore(value, target, llvm::Align(16));
  return target;
}

llvm::Value* FunctionContext::join(llvm::Instruction* at, llvm::Value* address, llvm::Value* redirected,
                                   llvm::BasicBlock* block) {
  llvm::BasicBlock* here = at->getParent();
  llvm::IRBuilder<> top(here, here->begin());
  llvm::PHINode* place = top.CreatePHI(hooks_.pointer(), 2, "powercut.place");
  for (llvm::BasicBlock* from : llvm::predecessors(here)) {
    place->addIncoming(from == block ? redirected : address, from);
  }
  return place;
}

llvm::Value* FunctionContext::announce_load(llvm::Instruction* at, llvm::Value* address, uint64_t size) {
  HookBuilder slow = when_in_window(Window::kLoad, address, at);
  llvm::Value* there =
      slow.CreateCall(hooks_.hook("__powercut_load", {hooks_.pointer(), hooks_.int64()}, hooks_.pointer()),
                      {address, hooks_.constant64(size)});
  return join(at, address, there, slow.GetInsertBlock());
}

llvm::Value* FunctionContext::call_store(HookBuilder& at, llvm::Value* address, uint64_t size, uint32_t flags,
                                         llvm::Value* value) {
  return at.CreateCall(
      hooks_.hook("__powercut_store", {hooks_.pointer(), hooks_.int64(), hooks_.int32(), hooks_.pointer()},
                  hooks_.pointer()),
      {address, hooks_.constant64(size), hooks_.constant32(flags), value});
}

llvm::Value* FunctionContext::announce_store(llvm::Instruction* at, llvm::Value* address, llvm::Value* value,
                                             uint32_t flags) {
  const uint64_t size = hooks_.layout().getTypeStoreSize(value->getType()).getFixedValue();
  HookBuilder slow = when_in_window(Window::kStore, address, at);
  llvm::Value* there = call_store(slow, address, size, flags, spill(slow, Slot::kValue, value));
  return join(at, address, there, slow.GetInsertBlock());
}

llvm::Value* FunctionContext::announce_range_load(llvm::Instruction* at, llvm::Value* address, llvm::Value* size) {
  HookBuilder before = builder(at);
  return before.CreateCall(hooks_.hook("__powercut_range_load", {hooks_.pointer(), hooks_.int64()}, hooks_.pointer()),
                           {address, before.CreateZExtOrTrunc(size, hooks_.int64())});
}

llvm::Value* FunctionContext::announce_range_store(llvm::Instruction* at, llvm::Value* address, llvm::Value* size,
                                                   llvm::Value* value, uint32_t flags) {
  HookBuilder before = builder(at);
  return before.CreateCall(
      hooks_.hook("__powercut_range_store", {hooks_.pointer(), hooks_.int64(), hooks_.int32(), hooks_.pointer()},
                  hooks_.pointer()),
      {address, before.CreateZExtOrTrunc(size, hooks_.int64()), hooks_.constant32(flags), value});
}

void FunctionContext::announce_flush(llvm::Instruction* at, llvm::Value* address, uint32_t kind) {
  HookBuilder before = builder(at);
  before.CreateCall(hooks_.hook("__powercut_flush", {hooks_.pointer(), hooks_.int32()}),
                    {address, hooks_.constant32(kind)});
}

void FunctionContext::announce_fence(llvm::Instruction* at, const llvm::Instruction* source, uint32_t kind) {
  builder(at, source).CreateCall(hooks_.hook("__powercut_fence", {hooks_.int32()}), {hooks_.constant32(kind)});
}

void FunctionContext::announce_pause(llvm::Instruction* at, const llvm::Instruction* source) {
  builder(at, source).CreateCall(hooks_.hook("__powercut_pause", {}));
}

void FunctionContext::run_only_for_real(llvm::Instruction* at) {
  HookBuilder before = builder(at);
  llvm::Value* flag = before.CreateLoad(before.getInt8Ty(), hooks_.real_flush());
  HookBuilder inside = when(before.CreateIsNotNull(flag), at);
  at->moveBefore(*inside.GetInsertBlock(), inside.GetInsertPoint());
}

}  // namespace powercut::pass
