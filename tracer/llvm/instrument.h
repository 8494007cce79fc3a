// One function for each family of instructions that can touch persistent memory. Each is called once for an
// instruction and puts its hooks before it (a read-modify-write: around it).
// The `bool` ones return false when the instruction is not of their family.
#ifndef POWERCUT_TRACER_LLVM_INSTRUMENT_H_
#define POWERCUT_TRACER_LLVM_INSTRUMENT_H_

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "tracer/llvm/function_context.h"

namespace powercut::pass {

// accesses.cc
void instrument_load(FunctionContext& context, llvm::LoadInst& load);
void instrument_store(FunctionContext& context, llvm::StoreInst& store);

// atomics.cc
void instrument_rmw(FunctionContext& context, llvm::AtomicRMWInst& rmw);
void instrument_cmpxchg(FunctionContext& context, llvm::AtomicCmpXchgInst& exchange);
void instrument_fence(FunctionContext& context, llvm::FenceInst& fence);
bool instrument_atomic_call(FunctionContext& context, llvm::CallBase& call);
// Announces begin before `operation` and end before `after`, if there is such a place. Returns the address that the
// operation must use. `stored` makes an i32, with a builder that stands before `after` and that address; without it, it
// always stores.
using Stored = llvm::function_ref<llvm::Value*(HookBuilder&, llvm::Value*)>;
llvm::Value* announce_rmw(FunctionContext& context, llvm::Instruction& operation, llvm::Instruction* after,
                          llvm::Value* address, uint64_t size, Stored stored = {});

// memory_calls.cc
// Arguments whose bytes the caller copies for the callee.
void instrument_byval(FunctionContext& context, llvm::CallBase& call);
bool instrument_memory_intrinsic(FunctionContext& context, llvm::IntrinsicInst& call);
bool replace_library_call(FunctionContext& context, llvm::CallBase& call);

// announced_arguments.cc
bool announce_arguments(FunctionContext& context, llvm::CallBase& call);

// lanes.cc: masked, gathered, scattered, compressed, expanded.
bool instrument_lanes(FunctionContext& context, llvm::IntrinsicInst& call);

// x86.cc: flushes, fences, direct stores.
bool instrument_x86(FunctionContext& context, llvm::IntrinsicInst& call);

// asm_call.cc
void instrument_inline_asm(FunctionContext& context, llvm::CallBase& call);

// locks.cc
bool instrument_thread_call(FunctionContext& context, llvm::CallBase& call);

// steps.cc
void count_steps(FunctionContext& context);

// The instruction that runs right after `call` returned normally; null when there is no such place.
llvm::Instruction* after_call(llvm::CallBase& call);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_INSTRUMENT_H_
