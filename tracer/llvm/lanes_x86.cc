// As lanes.cc, for the x86 intrinsics that clang emits where LLVM has no generic one, or keeps to itself.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "tracer/llvm/instrument.h"
#include "tracer/llvm/lane_calls.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

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

uint32_t lane_count(const llvm::Value* vector) {
  return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

llvm::Value* first_lanes(llvm::IRBuilder<>& builder, llvm::Value* vector, uint32_t count) {
  if (lane_count(vector) == count) return vector;
  llvm::SmallVector<int, 64> lanes;
  for (uint32_t lane = 0; lane < count; ++lane) lanes.push_back(static_cast<int>(lane));
  return builder.CreateShuffleVector(vector, lanes);
}

// base + index * scale, for each lane. Where index and value differ in width, the shorter vector counts.
llvm::Value* lane_addresses(llvm::IRBuilder<>& builder, llvm::Value* base, llvm::Value* index, llvm::Value* scale,
                            uint32_t count) {
  auto* wide = llvm::FixedVectorType::get(builder.getInt64Ty(), count);
  llvm::Value* offset = builder.CreateSExt(first_lanes(builder, index, count), wide);
  llvm::Value* factor = builder.getInt64(llvm::cast<llvm::ConstantInt>(scale)->getZExtValue());
  offset = builder.CreateMul(offset, builder.CreateVectorSplat(count, factor));
  return builder.CreateGEP(builder.getInt8Ty(), base, offset);
}

// AVX-512: scatter(base, <n x i1> mask, index, values, scale).
bool instrument_scatter(FunctionContext& context, llvm::IntrinsicInst& call) {
  llvm::Value* mask = call.getArgOperand(1);
  llvm::Value* index = call.getArgOperand(2);
  llvm::Value* values = call.getArgOperand(3);
  if (!mask->getType()->isVectorTy()) return false;
  const uint32_t count = std::min({lane_count(mask), lane_count(index), lane_count(values)});
  HookBuilder builder = context.builder(&call);
  llvm::Value* addresses = lane_addresses(builder, call.getArgOperand(0), index, call.getArgOperand(4), count);
  const uint64_t element = values->getType()->getScalarSizeInBits() / 8;
  LaneHooks hooks(context, call, {element, count});
  call.setArgOperand(0, hooks.scatter(hooks.addresses(addresses), hooks.values(values),
                                      hooks.mask_bytes(first_lanes(builder, mask, count)), call.getArgOperand(0)));
  return true;
}

// gather(otherwise, base, index, mask, scale); AVX2's mask is a vector of signs, AVX-512's is <n x i1>.
bool instrument_gather(FunctionContext& context, llvm::IntrinsicInst& call) {
  llvm::Value* index = call.getArgOperand(2);
  llvm::Value* mask = call.getArgOperand(3);
  if (!mask->getType()->isVectorTy()) return false;
  const uint32_t count = std::min({lane_count(mask), lane_count(index), lane_count(&call)});
  HookBuilder builder = context.builder(&call);
  llvm::Value* addresses = lane_addresses(builder, call.getArgOperand(1), index, call.getArgOperand(4), count);
  const uint64_t element = call.getType()->getScalarSizeInBits() / 8;
  LaneHooks hooks(context, call, {element, count});
  llvm::Value* active = first_lanes(builder, mask, count);
  const bool bits = mask->getType()->getScalarSizeInBits() == 1;
  call.setArgOperand(
      1, hooks.gather(hooks.addresses(addresses), bits ? hooks.mask_bytes(active) : hooks.sign_bytes(active),
                      call.getArgOperand(1)));
  return true;
}

// AVX-512: pmov<saturation>.<from><to>.mem(address, values, mask) narrows each lane and stores it.
bool instrument_narrowing(FunctionContext& context, llvm::IntrinsicInst& call, llvm::StringRef kind) {
  llvm::Value* values = call.getArgOperand(1);
  const uint32_t count = lane_count(values);
  const auto [saturation, rest] = kind.split('.');
  if (rest.size() < 2) return false;
  const unsigned bits = rest[1] == 'b' ? 8 : rest[1] == 'w' ? 16 : rest[1] == 'd' ? 32 : 0;
  const unsigned from = values->getType()->getScalarSizeInBits();
  if (bits == 0 || bits >= from || lane_count(values) > call.getArgOperand(2)->getType()->getIntegerBitWidth()) {
    return false;
  }
  HookBuilder builder = context.builder(&call);
  const auto clamp = [&](llvm::Intrinsic::ID id, const llvm::APInt& bound) {
    values = builder.CreateBinaryIntrinsic(id, values, llvm::ConstantInt::get(values->getType(), bound));
  };
  if (saturation == "us") {
    clamp(llvm::Intrinsic::umin, llvm::APInt::getMaxValue(bits).zext(from));
  } else if (saturation == "s") {
    clamp(llvm::Intrinsic::smin, llvm::APInt::getSignedMaxValue(bits).sext(from));
    clamp(llvm::Intrinsic::smax, llvm::APInt::getSignedMinValue(bits).sext(from));
  }
  values = builder.CreateTrunc(values, llvm::FixedVectorType::get(builder.getIntNTy(bits), count));
  llvm::Value* mask = call.getArgOperand(2);
  mask = builder.CreateBitCast(mask,
                               llvm::FixedVectorType::get(builder.getInt1Ty(), mask->getType()->getIntegerBitWidth()));
  LaneHooks hooks(context, call, {bits / 8, count});
  call.setArgOperand(0, hooks.store("__powercut_masked_store", call.getArgOperand(0), hooks.values(values),
                                    hooks.mask_bytes(first_lanes(builder, mask, count)), 0));
  return true;
}

}  // namespace

bool instrument_x86_lanes(FunctionContext& context, llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  const llvm::DataLayout& layout = context.hooks().layout();
  if (is_x86_mask_store(id)) {  // (address, mask, values)
    LaneHooks hooks(context, call, *lanes_of(call.getArgOperand(2)->getType(), layout));
    call.setArgOperand(0, hooks.store("__powercut_masked_store", call.getArgOperand(0),
                                      hooks.values(call.getArgOperand(2)), hooks.sign_bytes(call.getArgOperand(1)), 0));
    return true;
  }
  if (is_x86_mask_load(id)) {  // (address, mask)
    LaneHooks hooks(context, call, *lanes_of(call.getType(), layout));
    call.setArgOperand(
        0, hooks.load("__powercut_masked_load", call.getArgOperand(0), hooks.sign_bytes(call.getArgOperand(1))));
    return true;
  }
  if (id == llvm::Intrinsic::x86_sse2_maskmov_dqu) {  // (values, mask, address); stores around the cache
    LaneHooks hooks(context, call, {1, 16});
    call.setArgOperand(
        2, hooks.store("__powercut_masked_store", call.getArgOperand(2), hooks.values(call.getArgOperand(0)),
                       hooks.sign_bytes(call.getArgOperand(1)), POWERCUT_STORE_NT));
    return true;
  }
  if (id == llvm::Intrinsic::x86_sse3_ldu_dq || id == llvm::Intrinsic::x86_avx_ldu_dq_256) {
    const uint64_t size = layout.getTypeStoreSize(call.getType()).getFixedValue();
    call.setArgOperand(0, context.announce_load(&call, call.getArgOperand(0), size));
    return true;
  }
  // Families of dozens, told by name.
  llvm::StringRef name = call.getCalledFunction()->getName();
  if (starts_with(name, "llvm.x86.avx512.mask.scatter")) return instrument_scatter(context, call);
  if (starts_with(name, "llvm.x86.avx512.mask.gather") || starts_with(name, "llvm.x86.avx2.gather")) {
    return instrument_gather(context, call);
  }
  if (name.consume_front("llvm.x86.avx512.mask.pmov") && name.contains(".mem.")) {
    return instrument_narrowing(context, call, name);
  }
  return false;
}

}  // namespace powercut::pass
