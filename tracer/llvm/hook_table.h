// The runtime's hooks as the pass sees them: declared in the module on first use.
// tracer/runtime/hooks.h and lane_hooks.h are the contract.
#ifndef POWERCUT_TRACER_LLVM_HOOK_TABLE_H_
#define POWERCUT_TRACER_LLVM_HOOK_TABLE_H_

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

namespace powercut::pass {

enum class Window { kStore, kLoad };

class HookTable {
 public:
  explicit HookTable(llvm::Module& module);

  llvm::Module& module() const { return module_; }
  const llvm::DataLayout& layout() const { return module_.getDataLayout(); }
  llvm::IntegerType* int32() const { return int32_; }
  llvm::IntegerType* int64() const { return int64_; }
  llvm::PointerType* pointer() const { return pointer_; }
  llvm::ConstantInt* constant32(uint64_t value) const { return llvm::ConstantInt::get(int32_, value); }
  llvm::ConstantInt* constant64(uint64_t value) const { return llvm::ConstantInt::get(int64_, value); }

  // A hook by its full name. Hooks neither throw nor return twice; a listener that leaves one does so by
  // longjmp, which exception tables know nothing of.
  llvm::FunctionCallee hook(llvm::StringRef name, llvm::ArrayRef<llvm::Type*> parameters, llvm::Type* result = nullptr);

  llvm::GlobalVariable* window(Window which);  // { i64 base, i64 span }
  llvm::StructType* window_type() const { return window_type_; }
  llvm::GlobalVariable* steps();       // i64
  llvm::GlobalVariable* real_flush();  // i8
  llvm::GlobalVariable* alias();       // { i64 base, i64 span, i64 delta }
  llvm::StructType* alias_type() const { return alias_type_; }

 private:
  llvm::GlobalVariable* global(llvm::StringRef name, llvm::Type* type);

  llvm::Module& module_;
  llvm::IntegerType* int32_;
  llvm::IntegerType* int64_;
  llvm::PointerType* pointer_;
  llvm::StructType* window_type_;
  llvm::StructType* alias_type_;
};

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_HOOK_TABLE_H_
