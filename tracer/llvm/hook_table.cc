#include "tracer/llvm/hook_table.h"

#include <llvm/IR/Attributes.h>
#include <llvm/IR/Function.h>

namespace powercut::pass {

HookTable::HookTable(llvm::Module& module)
    : module_(module),
      int32_(llvm::Type::getInt32Ty(module.getContext())),
      int64_(llvm::Type::getInt64Ty(module.getContext())),
      pointer_(llvm::PointerType::getUnqual(module.getContext())),
      window_type_(llvm::StructType::get(int64_, int64_)),
      alias_type_(llvm::StructType::get(int64_, int64_, int64_)) {}

llvm::FunctionCallee HookTable::hook(llvm::StringRef name, llvm::ArrayRef<llvm::Type*> parameters, llvm::Type* result) {
  if (result == nullptr) result = llvm::Type::getVoidTy(module_.getContext());
  auto* type = llvm::FunctionType::get(result, parameters, false);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->addFnAttr(llvm::Attribute::NonLazyBind);  // called without a stub in between
  }
  return callee;
}

llvm::GlobalVariable* HookTable::window(Window which) {
  return global(which == Window::kStore ? "__powercut_store_window" : "__powercut_load_window", window_type_);
}

llvm::GlobalVariable* HookTable::steps() { return global("__powercut_steps", int64_); }

llvm::GlobalVariable* HookTable::real_flush() {
  return global("__powercut_real_flush", llvm::Type::getInt8Ty(module_.getContext()));
}

llvm::GlobalVariable* HookTable::alias() { return global("__powercut_alias", alias_type_); }

llvm::GlobalVariable* HookTable::global(llvm::StringRef name, llvm::Type* type) {
  if (llvm::GlobalVariable* existing = module_.getNamedGlobal(name)) return existing;
  return new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, name);
}

}  // namespace powercut::pass
