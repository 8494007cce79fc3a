// Instructions that give target code something from outside of memory: the time stamp counter and random numbers.
#ifndef POWERCUT_TRACER_LLVM_WORLD_SOURCES_H_
#define POWERCUT_TRACER_LLVM_WORLD_SOURCES_H_

#include "tracer/llvm/function_context.h"

namespace powercut::pass {

// Lets a hook replace the result of `call`, if the call is such an instruction: an intrinsic, or inline assembly of
// nothing else.
void replace_world_source(FunctionContext& context, llvm::CallBase& call);

}  // namespace powercut::pass
#endif  // POWERCUT_TRACER_LLVM_WORLD_SOURCES_H_
