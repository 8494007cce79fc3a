#include "tracer/llvm/externals.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "tracer/llvm/llvm_version.h"

namespace powercut::pass {
namespace {

// Memory that is surely not a pool: this module's globals, the stack, and stdio's own streams.
bool points_to_own_memory(const llvm::Value* pointer) {
  const llvm::Value* object = llvm::getUnderlyingObject(pointer);
  if (llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object)) return true;
  if (llvm::isa<llvm::ConstantPointerNull>(object)) return true;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(object)) {
    const llvm::StringRef name = load->getPointerOperand()->getName();
    return name == "stdin" || name == "stdout" || name == "stderr";
  }
  return false;
}

bool arguments_are_own_memory(const llvm::CallBase& call) {
  for (const llvm::Use& argument : call.args()) {
    if (argument->getType()->isPointerTy() && !points_to_own_memory(argument.get())) return false;
  }
  return true;
}

// One line, as a report prints it.
std::string one_line(llvm::StringRef text) {
  std::string line;
  for (const char c : text.trim()) {
    const char shown = c == '\n' || c == '\t' ? ' ' : c;
    if (shown == ' ' && !line.empty() && line.back() == ' ') continue;
    line.push_back(shown);
  }
  constexpr size_t kLongest = 200;
  if (line.size() > kLongest) line = line.substr(0, kLongest) + "...";
  return line;
}

}  // namespace

void Externals::note_call(const llvm::CallBase& call) {
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
  // Through a pointer: nobody knows here what is called. The list of externals is for people; what such a function does
  // to a watched pool faults and is seen (tracer/world/pool_traps.h).
  if (callee == nullptr || !callee->isDeclaration()) return;
  const llvm::StringRef name = callee->getName();
  if (starts_with(name, "__powercut_") || starts_with(name, "powercut_")) return;
  if (callee->isIntrinsic()) {
    if (callee->doesNotAccessMemory() || callee->onlyAccessesInaccessibleMemory()) return;
    if (is_harmless(name)) return;
    names_.insert("intrinsic: " + name.str());
    return;
  }
  if (call.doesNotAccessMemory() || is_harmless(name)) return;
  if (touches_only_arguments(name) && arguments_are_own_memory(call)) return;
  names_.insert(demangled(name));
}

void Externals::note_asm(llvm::StringRef text) { names_.insert("asm: " + one_line(text)); }

std::vector<std::string> defined_functions(const llvm::Module& module) {
  std::vector<std::string> names;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasLocalLinkage() || function.hasAvailableExternallyLinkage()) continue;
    names.push_back(demangled(function.getName()));
  }
  return names;
}

}  // namespace powercut::pass
