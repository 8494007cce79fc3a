// Functions of the C++ library that read the bytes which an argument points to, and another one counts. Their code is
// not instrumented; the bytes are announced where they are called.
//
// A convenience: what is missing here faults in a watched pool and is seen then, a hundred times slower.
#include <llvm/ADT/StringSwitch.h>

#include <utility>

#include "tracer/llvm/instrument.h"

namespace powercut::pass {
namespace {

// Numbers of the arguments; {0, 0}: the function is not one of them.
std::pair<unsigned, unsigned> bytes_and_size(llvm::StringRef name) {
  if (name == "_ZSt11_Hash_bytesPKvmm") return {0, 1};
  if (name == "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l") return {1, 2};
  if (!name.consume_front("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE")) return {0, 0};
  return llvm::StringSwitch<std::pair<unsigned, unsigned>>(name)
      .Cases("9_M_appendEPKcm", "6appendEPKcm", "6assignEPKcm", {1, 2})
      .Cases("10_M_replaceEmmPKcm", "7replaceEmmPKcm", {3, 4})
      .Case("6insertEmPKcm", {2, 3})
      .Default({0, 0});
}

}  // namespace

bool announce_arguments(FunctionContext& context, llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return false;
  const auto [bytes, size] = bytes_and_size(callee->getName());
  if (size == 0 || size >= call.arg_size()) return false;
  llvm::Value* place = context.announce_range_load(&call, call.getArgOperand(bytes), call.getArgOperand(size));
  call.setArgOperand(bytes, place);
  return true;
}

}  // namespace powercut::pass
