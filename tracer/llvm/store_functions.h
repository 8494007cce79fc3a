// Which functions of a module store to memory that may be persistent, and whether each of them was reached.
//
// A function of the source, not of the object. Inlined code counts for the function that it was written in. Stores of a
// system header or a header of powercut's count for the function that they were inlined into. Stores to the own stack,
// to globals of the module and to the slot of a returned value do not count.
//
// Known inaccuracies: at -O0 a header's function is not inlined; those of std::atomic are known by their names, others
// (std::copy) count for nobody. A store of an uninstrumented function counts for nobody either.
#ifndef POWERCUT_TRACER_LLVM_STORE_FUNCTIONS_H_
#define POWERCUT_TRACER_LLVM_STORE_FUNCTIONS_H_

#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <string>
#include <vector>

#include "tracer/llvm/hook_table.h"

namespace powercut::pass {

class StoreFunctions {
 public:
  explicit StoreFunctions(HookTable& hooks) : hooks_(hooks) {}

  // Before anything is instrumented: puts marks where the function is entered, if it stores, and before the first store
  // of each block that was inlined into it. `accesses` are the instructions of the function that touch memory.
  void mark(llvm::Function& function, llvm::ArrayRef<llvm::Instruction*> accesses);

  // After all functions: gives the marks bytes of the module, for code that runs before the module is registered.
  void finish();
  // Zero: there is nothing to register.
  uint32_t count() const { return static_cast<uint32_t>(numbers_.size()); }
  // A line for each, in the order of their numbers: name, file and line with tabs between.
  std::string lines() const;
  // The variable with the address of the marks, one byte each, which the runtime replaces.
  llvm::GlobalVariable* marks();

 private:
  uint32_t number_of(const std::string& line);
  void put_mark(llvm::Instruction* before, uint32_t number);

  HookTable& hooks_;
  std::map<std::string, uint32_t> numbers_;
  llvm::GlobalVariable* marks_ = nullptr;
};

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_STORE_FUNCTIONS_H_
