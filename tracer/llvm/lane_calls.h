// Calls of the runtime's lane hooks (tracer/runtime/hooks/lane_hooks.h), for lanes.cc and lanes_x86.cc.
#ifndef POWERCUT_TRACER_LLVM_LANE_CALLS_H_
#define POWERCUT_TRACER_LLVM_LANE_CALLS_H_

#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "tracer/llvm/function_context.h"

namespace powercut::pass {

// Lanes of a vector type whose elements are whole bytes.
struct Lanes {
  uint64_t element = 0;
  uint32_t count = 0;
};

inline std::optional<Lanes> lanes_of(llvm::Type* type, const llvm::DataLayout& layout) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return std::nullopt;
  const uint64_t bits = layout.getTypeSizeInBits(vector->getElementType()).getFixedValue();
  if (bits == 0 || bits % 8 != 0) return std::nullopt;
  return Lanes{bits / 8, vector->getNumElements()};
}

class LaneHooks {
 public:
  LaneHooks(FunctionContext& context, llvm::IntrinsicInst& call, Lanes lanes)
      : context_(context), hooks_(context.hooks()), lanes_(lanes), builder_(context.builder(&call)) {}

  // <n x i1>, one byte for each lane.
  llvm::Value* mask_bytes(llvm::Value* bits) {
    auto* type = llvm::FixedVectorType::get(builder_.getInt8Ty(), lanes_.count);
    return context_.spill(builder_, Slot::kMask, builder_.CreateZExt(bits, type));
  }
  // x86: a lane is active when its top bit is set.
  llvm::Value* sign_bytes(llvm::Value* vector) {
    auto* type =
        llvm::FixedVectorType::get(builder_.getIntNTy(static_cast<unsigned>(8 * lanes_.element)), lanes_.count);
    llvm::Value* integers = builder_.CreateBitCast(vector, type);
    return mask_bytes(builder_.CreateICmpSLT(integers, llvm::Constant::getNullValue(type)));
  }
  llvm::Value* values(llvm::Value* vector) { return context_.spill(builder_, Slot::kValue, vector); }
  llvm::Value* addresses(llvm::Value* vector) { return context_.spill(builder_, Slot::kAddresses, vector); }

  // Each returns the address that the access must use.
  llvm::Value* store(llvm::StringRef hook, llvm::Value* where, llvm::Value* values, llvm::Value* mask, uint32_t flags) {
    return call_store(hook, hooks_.pointer(), where, values, mask, flags);
  }
  llvm::Value* load(llvm::StringRef hook, llvm::Value* where, llvm::Value* mask) {
    return call_load(hook, hooks_.pointer(), where, mask);
  }
  // Lanes with an address each: `moved` is an address or a vector of them, to which what the hook returns is added.
  llvm::Value* scatter(llvm::Value* addresses, llvm::Value* values, llvm::Value* mask, llvm::Value* moved) {
    return shifted(moved, call_store("__powercut_scatter", hooks_.int64(), addresses, values, mask, 0));
  }
  llvm::Value* gather(llvm::Value* addresses, llvm::Value* mask, llvm::Value* moved) {
    return shifted(moved, call_load("__powercut_gather", hooks_.int64(), addresses, mask));
  }

 private:
  llvm::Value* call_store(llvm::StringRef hook, llvm::Type* result, llvm::Value* where, llvm::Value* values,
                          llvm::Value* mask, uint32_t flags) {
    llvm::Type* pointer = hooks_.pointer();
    return builder_.CreateCall(
        hooks_.hook(hook, {pointer, hooks_.int64(), hooks_.int32(), hooks_.int32(), pointer, pointer}, result),
        {where, hooks_.constant64(lanes_.element), hooks_.constant32(lanes_.count), hooks_.constant32(flags), values,
         mask});
  }
  llvm::Value* call_load(llvm::StringRef hook, llvm::Type* result, llvm::Value* where, llvm::Value* mask) {
    llvm::Type* pointer = hooks_.pointer();
    return builder_.CreateCall(hooks_.hook(hook, {pointer, hooks_.int64(), hooks_.int32(), pointer}, result),
                               {where, hooks_.constant64(lanes_.element), hooks_.constant32(lanes_.count), mask});
  }
  llvm::Value* shifted(llvm::Value* moved, llvm::Value* shift) {
    return builder_.CreateGEP(builder_.getInt8Ty(), moved, shift);
  }

  FunctionContext& context_;
  HookTable& hooks_;
  Lanes lanes_;
  HookBuilder builder_;
};

// The x86 forms; false when the intrinsic is none of them.
bool instrument_x86_lanes(FunctionContext& context, llvm::IntrinsicInst& call);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_LANE_CALLS_H_
