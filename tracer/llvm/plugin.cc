// Entry point of the plugin: clang-19 -fpass-plugin=libpowercut_pass.so.
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include "tracer/llvm/pass.h"

extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "powercut", "1", [](llvm::PassBuilder& builder) {
            builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(powercut::pass::InstrumentPass());
            });
            // For tests on hand-written IR: opt -passes=powercut.
            builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::ModulePassManager& passes,
                                                       llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
              if (name != "powercut") return false;
              passes.addPass(powercut::pass::InstrumentPass());
              return true;
            });
          }};
}
