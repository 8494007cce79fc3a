// Accesses under a mask: masked, scattered, gathered, compressed and expanded vectors, as LLVM's intrinsics and
// as the x86 ones that clang emits for AVX and AVX2. The runtime walks the lanes.
#include <llvm/IR/IntrinsicsX86.h>

#include "tracer/llvm/externals.h"
#include "tracer/llvm/instrument.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

// Lanes of a vector type whose elements are whole bytes.
struct Lanes {
  uint64_t element = 0;
  uint32_t count = 0;
};

std::optional<Lanes> lanes_of(llvm::Type* type, const llvm::DataLayout& layout) {
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

  void store(llvm::StringRef hook, llvm::Value* where, llvm::Value* values, llvm::Value* mask, uint32_t flags) {
    llvm::Type* pointer = hooks_.pointer();
    builder_.CreateCall(hooks_.hook(hook, {pointer, hooks_.int64(), hooks_.int32(), hooks_.int32(), pointer, pointer}),
                        {where, hooks_.constant64(lanes_.element), hooks_.constant32(lanes_.count),
                         hooks_.constant32(flags), values, mask});
  }
  void load(llvm::StringRef hook, llvm::Value* where, llvm::Value* mask) {
    llvm::Type* pointer = hooks_.pointer();
    builder_.CreateCall(hooks_.hook(hook, {pointer, hooks_.int64(), hooks_.int32(), pointer}),
                        {where, hooks_.constant64(lanes_.element), hooks_.constant32(lanes_.count), mask});
  }

 private:
  FunctionContext& context_;
  HookTable& hooks_;
  Lanes lanes_;
  HookBuilder builder_;
};

enum class Shape { kNone, kMaskedStore, kMaskedLoad, kScatter, kGather, kCompress, kExpand };

Shape generic_shape(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::masked_store:
      return Shape::kMaskedStore;
    case llvm::Intrinsic::masked_load:
      return Shape::kMaskedLoad;
    case llvm::Intrinsic::masked_scatter:
      return Shape::kScatter;
    case llvm::Intrinsic::masked_gather:
      return Shape::kGather;
    case llvm::Intrinsic::masked_compressstore:
      return Shape::kCompress;
    case llvm::Intrinsic::masked_expandload:
      return Shape::kExpand;
    default:
      return Shape::kNone;
  }
}

bool is_x86_mask_store(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::x86_avx_maskstore_ps:
    case llvm::Intrinsic::x86_avx_maskstore_pd:
    case llvm::Intrinsic::x86_avx_maskstore_ps_256:
    case llvm::Intrinsic::x86_avx_maskstore_pd_256:
    case llvm::Intrinsic::x86_avx2_maskstore_d:
    case llvm::Intrinsic::x86_avx2_maskstore_q:
    case llvm::Intrinsic::x86_avx2_maskstore_d_256:
    case llvm::Intrinsic::x86_avx2_maskstore_q_256:
      return true;
    default:
      return false;
  }
}

bool is_x86_mask_load(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::x86_avx_maskload_ps:
    case llvm::Intrinsic::x86_avx_maskload_pd:
    case llvm::Intrinsic::x86_avx_maskload_ps_256:
    case llvm::Intrinsic::x86_avx_maskload_pd_256:
    case llvm::Intrinsic::x86_avx2_maskload_d:
    case llvm::Intrinsic::x86_avx2_maskload_q:
    case llvm::Intrinsic::x86_avx2_maskload_d_256:
    case llvm::Intrinsic::x86_avx2_maskload_q_256:
      return true;
    default:
      return false;
  }
}

bool instrument_generic(FunctionContext& context, llvm::IntrinsicInst& call, Shape shape) {
  const bool stores = shape == Shape::kMaskedStore || shape == Shape::kScatter || shape == Shape::kCompress;
  llvm::Type* type = stores ? call.getArgOperand(0)->getType() : call.getType();
  const std::optional<Lanes> lanes = lanes_of(type, context.hooks().layout());
  if (!lanes) return false;
  LaneHooks hooks(context, call, *lanes);
  switch (shape) {
    case Shape::kMaskedStore: {  // (values, address, alignment, mask)
      // A masked store has no non-temporal form on x86; the metadata, if any, is dropped by the backend.
      hooks.store("__powercut_masked_store", call.getArgOperand(1), hooks.values(call.getArgOperand(0)),
                  hooks.mask_bytes(call.getArgOperand(3)), 0);
      return true;
    }
    case Shape::kMaskedLoad:  // (address, alignment, mask, otherwise)
      hooks.load("__powercut_masked_load", call.getArgOperand(0), hooks.mask_bytes(call.getArgOperand(2)));
      return true;
    case Shape::kScatter:  // (values, addresses, alignment, mask)
      hooks.store("__powercut_scatter", hooks.addresses(call.getArgOperand(1)), hooks.values(call.getArgOperand(0)),
                  hooks.mask_bytes(call.getArgOperand(3)), 0);
      return true;
    case Shape::kGather:  // (addresses, alignment, mask, otherwise)
      hooks.load("__powercut_gather", hooks.addresses(call.getArgOperand(0)), hooks.mask_bytes(call.getArgOperand(2)));
      return true;
    case Shape::kCompress:  // (values, address, mask)
      hooks.store("__powercut_compress_store", call.getArgOperand(1), hooks.values(call.getArgOperand(0)),
                  hooks.mask_bytes(call.getArgOperand(2)), 0);
      return true;
    case Shape::kExpand:  // (address, mask, otherwise)
      hooks.load("__powercut_expand_load", call.getArgOperand(0), hooks.mask_bytes(call.getArgOperand(1)));
      return true;
    case Shape::kNone:
      return false;
  }
  return false;
}

}  // namespace

bool instrument_lanes(FunctionContext& context, llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  if (const Shape shape = generic_shape(id); shape != Shape::kNone) return instrument_generic(context, call, shape);
  const llvm::DataLayout& layout = context.hooks().layout();
  if (is_x86_mask_store(id)) {  // (address, mask, values)
    LaneHooks hooks(context, call, *lanes_of(call.getArgOperand(2)->getType(), layout));
    hooks.store("__powercut_masked_store", call.getArgOperand(0), hooks.values(call.getArgOperand(2)),
                hooks.sign_bytes(call.getArgOperand(1)), 0);
    return true;
  }
  if (is_x86_mask_load(id)) {  // (address, mask)
    LaneHooks hooks(context, call, *lanes_of(call.getType(), layout));
    hooks.load("__powercut_masked_load", call.getArgOperand(0), hooks.sign_bytes(call.getArgOperand(1)));
    return true;
  }
  if (id == llvm::Intrinsic::x86_sse2_maskmov_dqu) {  // (values, mask, address); stores around the cache
    LaneHooks hooks(context, call, {1, 16});
    hooks.store("__powercut_masked_store", call.getArgOperand(2), hooks.values(call.getArgOperand(0)),
                hooks.sign_bytes(call.getArgOperand(1)), POWERCUT_STORE_NT);
    return true;
  }
  if (id == llvm::Intrinsic::x86_sse3_ldu_dq || id == llvm::Intrinsic::x86_avx_ldu_dq_256) {
    context.announce_load(&call, call.getArgOperand(0), layout.getTypeStoreSize(call.getType()).getFixedValue());
    return true;
  }
  return false;
}

}  // namespace powercut::pass
