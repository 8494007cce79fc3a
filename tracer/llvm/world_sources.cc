// The instruction stays; the hook is given what it said, and answers what the program is told. In a program that runs
// on its own that is the same; under the engine it is the virtual world's (tracer/world/virtual_world.h).
#include "tracer/llvm/world_sources.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "tracer/llvm/instrument.h"  // after_call()
#include "tracer/llvm/llvm_version.h"

namespace powercut::pass {
namespace {

constexpr const char* kCycles = "__powercut_cycles";
constexpr const char* kRandom = "__powercut_random";

llvm::Value* asked(FunctionContext& context, llvm::IRBuilderBase& at, const char* name, llvm::Value* real) {
  HookTable& hooks = context.hooks();
  auto* type = llvm::FunctionType::get(hooks.int64(), {hooks.int64()}, false);
  llvm::FunctionCallee hook = hooks.module().getOrInsertFunction(name, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(hook.getCallee())) function->setDoesNotThrow();
  llvm::Value* answer = at.CreateCall(hook, {at.CreateZExtOrTrunc(real, hooks.int64())});
  return at.CreateZExtOrTrunc(answer, real->getType());
}

// Everyone who used the instruction's result uses `replacement`, which was made of it.
void replace(llvm::Value* replacement, const llvm::SmallVectorImpl<llvm::Use*>& uses) {
  for (llvm::Use* use : uses) use->set(replacement);
}

llvm::SmallVector<llvm::Use*, 8> uses_of(llvm::CallBase& call) {
  llvm::SmallVector<llvm::Use*, 8> out;
  for (llvm::Use& use : call.uses()) out.push_back(&use);
  return out;
}

// A number alone, or the first of the values that the call gives.
void replace_value(FunctionContext& context, llvm::CallBase& call, const char* hook, bool succeeds) {
  llvm::Instruction* after = after_call(call);
  if (after == nullptr) return;
  const auto uses = uses_of(call);
  llvm::IRBuilder<> at(after);
  if (!call.getType()->isStructTy()) {
    replace(asked(context, at, hook, &call), uses);
    return;
  }
  llvm::Value* result = at.CreateInsertValue(&call, asked(context, at, hook, at.CreateExtractValue(&call, 0)), 0);
  if (succeeds) {
    llvm::Type* flag = llvm::cast<llvm::StructType>(call.getType())->getElementType(1);
    result = at.CreateInsertValue(result, llvm::ConstantInt::get(flag, 1), 1);
  }
  replace(result, uses);
}

// `asm("rdtsc" : "=a"(low), "=d"(high))`, the spelling that everybody uses, with or without the processor's number.
void replace_assembly(FunctionContext& context, llvm::CallBase& call, const llvm::InlineAsm& assembly) {
  const llvm::StringRef text = llvm::StringRef(assembly.getAsmString()).trim(" \t\n;");
  if (text != "rdtsc" && text != "rdtscp" && text != "lfence; rdtsc" && text != "lfence\n\trdtsc") return;
  const llvm::StringRef constraints = assembly.getConstraintString();
  llvm::Instruction* after = after_call(call);
  auto* type = llvm::dyn_cast<llvm::StructType>(call.getType());
  const auto uses = uses_of(call);
  if (after == nullptr) return;
  llvm::IRBuilder<> at(after);
  if (type == nullptr && starts_with(constraints, "=A")) {
    replace(asked(context, at, kCycles, &call), uses);
    return;
  }
  const bool low_and_high = type != nullptr && type->getNumElements() >= 2 && type->getElementType(0)->isIntegerTy() &&
                            type->getElementType(1)->isIntegerTy() && starts_with(constraints, "={ax},={dx}");
  if (!low_and_high) return;
  llvm::Type* wide = context.hooks().int64();
  llvm::Value* low = at.CreateZExtOrTrunc(at.CreateExtractValue(&call, 0), wide);
  llvm::Value* high = at.CreateZExtOrTrunc(at.CreateExtractValue(&call, 1), wide);
  low = at.CreateAnd(low, 0xffffffff);
  llvm::Value* all = asked(context, at, kCycles, at.CreateOr(low, at.CreateShl(high, 32)));
  llvm::Value* result =
      at.CreateInsertValue(&call, at.CreateZExtOrTrunc(at.CreateAnd(all, 0xffffffff), type->getElementType(0)), 0);
  result = at.CreateInsertValue(result, at.CreateZExtOrTrunc(at.CreateLShr(all, 32), type->getElementType(1)), 1);
  replace(result, uses);
}

}  // namespace

void replace_world_source(FunctionContext& context, llvm::CallBase& call) {
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    replace_assembly(context, call, *assembly);
    return;
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::x86_rdtsc:
    case llvm::Intrinsic::x86_rdtscp:
    case llvm::Intrinsic::readcyclecounter:
      replace_value(context, call, kCycles, /*succeeds=*/false);
      return;
    case llvm::Intrinsic::x86_rdrand_16:
    case llvm::Intrinsic::x86_rdrand_32:
    case llvm::Intrinsic::x86_rdrand_64:
    case llvm::Intrinsic::x86_rdseed_16:
    case llvm::Intrinsic::x86_rdseed_32:
    case llvm::Intrinsic::x86_rdseed_64:
      replace_value(context, call, kRandom, /*succeeds=*/true);
      return;
    default:
      return;
  }
}

}  // namespace powercut::pass
