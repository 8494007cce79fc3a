// Accesses under a mask, as LLVM's own intrinsics: masked, scattered, gathered, compressed and expanded vectors.
// The runtime walks the lanes.
#include "tracer/llvm/instrument.h"
#include "tracer/llvm/lane_calls.h"

namespace powercut::pass {
namespace {

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

bool instrument_generic(FunctionContext& context, llvm::IntrinsicInst& call, Shape shape) {
  const bool stores = shape == Shape::kMaskedStore || shape == Shape::kScatter || shape == Shape::kCompress;
  llvm::Type* type = stores ? call.getArgOperand(0)->getType() : call.getType();
  const std::optional<Lanes> lanes = lanes_of(type, context.hooks().layout());
  if (!lanes) return false;
  LaneHooks hooks(context, call, *lanes);
  switch (shape) {
    case Shape::kMaskedStore: {  // (values, address, alignment, mask)
      // A masked store has no non-temporal form on x86; the metadata, if any, is dropped by the backend.
      call.setArgOperand(
          1, hooks.store("__powercut_masked_store", call.getArgOperand(1), hooks.values(call.getArgOperand(0)),
                         hooks.mask_bytes(call.getArgOperand(3)), 0));
      return true;
    }
    case Shape::kMaskedLoad:  // (address, alignment, mask, otherwise)
      call.setArgOperand(
          0, hooks.load("__powercut_masked_load", call.getArgOperand(0), hooks.mask_bytes(call.getArgOperand(2))));
      return true;
    case Shape::kScatter:  // (values, addresses, alignment, mask)
      call.setArgOperand(1, hooks.scatter(hooks.addresses(call.getArgOperand(1)), hooks.values(call.getArgOperand(0)),
                                          hooks.mask_bytes(call.getArgOperand(3)), call.getArgOperand(1)));
      return true;
    case Shape::kGather:  // (addresses, alignment, mask, otherwise)
      call.setArgOperand(0, hooks.gather(hooks.addresses(call.getArgOperand(0)),
                                         hooks.mask_bytes(call.getArgOperand(2)), call.getArgOperand(0)));
      return true;
    case Shape::kCompress:  // (values, address, mask)
      call.setArgOperand(
          1, hooks.store("__powercut_compress_store", call.getArgOperand(1), hooks.values(call.getArgOperand(0)),
                         hooks.mask_bytes(call.getArgOperand(2)), 0));
      return true;
    case Shape::kExpand:  // (address, mask, otherwise)
      call.setArgOperand(
          0, hooks.load("__powercut_expand_load", call.getArgOperand(0), hooks.mask_bytes(call.getArgOperand(1))));
      return true;
    case Shape::kNone:
      return false;
  }
  return false;
}

}  // namespace

bool instrument_lanes(FunctionContext& context, llvm::IntrinsicInst& call) {
  const Shape shape = generic_shape(call.getIntrinsicID());
  return shape != Shape::kNone ? instrument_generic(context, call, shape) : instrument_x86_lanes(context, call);
}

}  // namespace powercut::pass
