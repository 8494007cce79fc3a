#include "tracer/llvm/skip.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include "tracer/llvm/llvm_version.h"

namespace powercut::pass {
namespace {

constexpr llvm::StringLiteral kIgnore = "powercut_ignore";

// One entry of llvm.global.annotations: { function, text, file, line, arguments }.
const llvm::Function* ignored_function(const llvm::Constant& entry) {
  const auto* annotation = llvm::dyn_cast<llvm::ConstantStruct>(&entry);
  if (annotation == nullptr || annotation->getNumOperands() < 2) return nullptr;
  const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(annotation->getOperand(1)->stripPointerCasts());
  if (text == nullptr || !text->hasInitializer()) return nullptr;
  const auto* bytes = llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer());
  if (bytes == nullptr || !bytes->isCString() || bytes->getAsCString() != kIgnore) return nullptr;
  return llvm::dyn_cast<llvm::Function>(annotation->getOperand(0)->stripPointerCasts());
}

}  // namespace

SkippedFunctions::SkippedFunctions(llvm::Module& module) {
  if (const llvm::GlobalVariable* annotations = module.getNamedGlobal("llvm.global.annotations")) {
    if (const auto* entries = llvm::dyn_cast<llvm::ConstantArray>(annotations->getInitializer())) {
      for (const llvm::Use& entry : entries->operands()) {
        if (const llvm::Function* function = ignored_function(*llvm::cast<llvm::Constant>(entry.get()))) {
          named_.insert(function);
        }
      }
    }
  }
  // A resolver runs while the program is being relocated, when hooks cannot be called yet.
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs()) {
    if (const llvm::Function* resolver = ifunc.getResolverFunction()) named_.insert(resolver);
  }
}

bool SkippedFunctions::contains(const llvm::Function& function) const {
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) return true;
  // No frame to put a hook's spill slots in.
  if (function.hasFnAttribute(llvm::Attribute::Naked)) return true;
  if (function.hasFnAttribute(llvm::Attribute::DisableSanitizerInstrumentation)) return true;
  if (starts_with(function.getName(), "__powercut_")) return true;
  return named_.contains(&function);
}

}  // namespace powercut::pass
