// Helpers for instrumenting one function: guards, spill slots, debug locations.
#ifndef POWERCUT_TRACER_LLVM_FUNCTION_CONTEXT_H_
#define POWERCUT_TRACER_LLVM_FUNCTION_CONTEXT_H_

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <cstdint>

#include "tracer/llvm/hook_table.h"

namespace powercut::pass {

class Externals;

// Stack slots for what a hook is given by address. Each is used by one hook call at a time.
enum class Slot { kValue, kMask, kAddresses };

// Inserts before an instruction, under the debug location that every hook of it carries. Not copyable:
// functions below return it by value, built in place.
class HookBuilder : public llvm::IRBuilder<> {
 public:
  HookBuilder(llvm::Instruction* at, const llvm::DebugLoc& location) : llvm::IRBuilder<>(at) {
    SetCurrentDebugLocation(location);
  }
};

class FunctionContext {
 public:
  FunctionContext(llvm::Function& function, HookTable& hooks, Externals& externals);

  llvm::Function& function() { return function_; }
  HookTable& hooks() { return hooks_; }
  Externals& externals() { return externals_; }

  // A builder before `at`, with the debug location of `source` (of the function when it has none).
  HookBuilder builder(llvm::Instruction* at, const llvm::Instruction* source);
  HookBuilder builder(llvm::Instruction* at) { return builder(at, at); }
  llvm::DebugLoc location(const llvm::Instruction* source) const;

  // `address` is in the window (tested by the address alone).
  llvm::Value* in_window(llvm::IRBuilder<>& builder, Window window, llvm::Value* address);
  // Splits before `at`; returns a builder in the block that runs when the address is in the window.
  HookBuilder when_in_window(Window window, llvm::Value* address, llvm::Instruction* at);
  // Splits before `at`; returns a builder in the block that runs when `condition` holds (unlikely).
  HookBuilder when(llvm::Value* condition, llvm::Instruction* at);

  // Stores `value` to the slot and returns the slot's address.
  llvm::Value* spill(llvm::IRBuilder<>& builder, Slot slot, llvm::Value* value);
  // A slot of at least `size` bytes.
  llvm::AllocaInst* slot(Slot slot, uint64_t size);

  // The one-line hooks. Each checks the window first unless the comment says otherwise. Hooks of accesses return the
  // address that `at` must use, which is known at `at`.
  llvm::Value* announce_load(llvm::Instruction* at, llvm::Value* address, uint64_t size);
  llvm::Value* announce_store(llvm::Instruction* at, llvm::Value* address, llvm::Value* value, uint32_t flags);
  // Sizes that are known at run time only; the runtime checks the window.
  llvm::Value* announce_range_load(llvm::Instruction* at, llvm::Value* address, llvm::Value* size);
  llvm::Value* announce_range_store(llvm::Instruction* at, llvm::Value* address, llvm::Value* size, llvm::Value* value,
                                    uint32_t flags);
  // The call of __powercut_store at `at`, whose `value` is an address.
  llvm::Value* call_store(HookBuilder& at, llvm::Value* address, uint64_t size, uint32_t flags, llvm::Value* value);
  // `redirected`, of the block that when() made before `at`, or `address` where that was not run.
  llvm::Value* join(llvm::Instruction* at, llvm::Value* address, llvm::Value* redirected, llvm::BasicBlock* block);
  void announce_flush(llvm::Instruction* at, llvm::Value* address, uint32_t kind);
  void announce_fence(llvm::Instruction* at, const llvm::Instruction* source, uint32_t kind);
  // A turn of a loop that waits (thread_hooks.h).
  void announce_pause(llvm::Instruction* at, const llvm::Instruction* source);
  // Makes `at` (a real flush or fence without a result) run only while __powercut_real_flush is set.
  void run_only_for_real(llvm::Instruction* at);

 private:
  void hoist_allocas();

  llvm::Function& function_;
  HookTable& hooks_;
  Externals& externals_;
  std::array<llvm::AllocaInst*, 3> slots_{};
};

// The access lies in an object on this function's own stack or in constant data, at an offset and size known
// to be in bounds: it can never be persistent memory.
bool is_own_stack(const llvm::Value* address, uint64_t size, const llvm::DataLayout& layout);
bool is_constant_data(const llvm::Value* address, uint64_t size, const llvm::DataLayout& layout);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_FUNCTION_CONTEXT_H_
