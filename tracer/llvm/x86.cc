// x86 intrinsics of the persistency instructions.
#include <llvm/IR/IntrinsicsX86.h>

#include "tracer/llvm/instrument.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

void flush(FunctionContext& context, llvm::IntrinsicInst& call, uint32_t kind) {
  context.announce_flush(&call, call.getArgOperand(0), kind);
  context.run_only_for_real(&call);
}

void fence(FunctionContext& context, llvm::IntrinsicInst& call, uint32_t kind) {
  context.announce_fence(&call, &call, kind);
  context.run_only_for_real(&call);
}

}  // namespace

bool instrument_x86(FunctionContext& context, llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::x86_clwb:
      flush(context, call, POWERCUT_CLWB);
      return true;
    case llvm::Intrinsic::x86_clflushopt:
      flush(context, call, POWERCUT_CLFLUSHOPT);
      return true;
    case llvm::Intrinsic::x86_sse2_clflush:
      flush(context, call, POWERCUT_CLFLUSH);
      return true;
    case llvm::Intrinsic::x86_sse_sfence:
      fence(context, call, POWERCUT_SFENCE);
      return true;
    case llvm::Intrinsic::x86_sse2_mfence:
      fence(context, call, POWERCUT_MFENCE);
      return true;
    case llvm::Intrinsic::x86_sse2_lfence:
      return true;  // orders loads only
    case llvm::Intrinsic::x86_sse2_pause:
      context.announce_pause(&call, &call);
      return true;
    case llvm::Intrinsic::x86_directstore32:
    case llvm::Intrinsic::x86_directstore64:
      // Direct stores go around the cache as non-temporal ones do, and are made durable by the same fences.
      call.setArgOperand(
          0, context.announce_store(&call, call.getArgOperand(0), call.getArgOperand(1), POWERCUT_STORE_NT));
      return true;
    case llvm::Intrinsic::x86_movdir64b: {
      llvm::Value* target = call.getArgOperand(0);
      llvm::Value* source = context.announce_load(&call, call.getArgOperand(1), 64);
      call.setArgOperand(1, source);
      HookBuilder slow = context.when_in_window(Window::kStore, target, &call);
      llvm::Value* there = context.call_store(slow, target, 64, POWERCUT_STORE_NT | POWERCUT_STORE_ATOMIC, source);
      call.setArgOperand(0, context.join(&call, target, there, slow.GetInsertBlock()));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace powercut::pass
