// Functions that a module calls and powercut cannot see into. The verdict lists these names as not checked.
#ifndef POWERCUT_TRACER_LLVM_EXTERNALS_H_
#define POWERCUT_TRACER_LLVM_EXTERNALS_H_

#include <llvm/ADT/StringRef.h>
#include <llvm/IR/InstrTypes.h>

#include <set>
#include <string>
#include <vector>

namespace powercut::pass {

// True if the named library function (as linked, not demangled) can touch persistent memory only through
// instrumented code: it works on its own memory, or does not touch memory at all.
bool is_harmless(llvm::StringRef name);
// True for library functions that touch, besides their own memory, only what their arguments point to.
bool touches_only_arguments(llvm::StringRef name);

class Externals {
 public:
  // Notes the callee of a call that no other part of the pass took care of.
  void note_call(const llvm::CallBase& call);
  // Inline assembly that could not be decoded.
  void note_asm(llvm::StringRef text);
  // Something else, by a name of our own.
  void note(std::string name) { names_.insert(std::move(name)); }

  const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> names_;  // ordered: the same module gives the same object file
};

// Demangled names of the functions that the module offers to others.
std::vector<std::string> defined_functions(const llvm::Module& module);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_EXTERNALS_H_
