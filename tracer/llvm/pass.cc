#include "tracer/llvm/pass.h"

#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "tracer/llvm/externals.h"
#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/llvm/skip.h"
#include "tracer/llvm/store_functions.h"
#include "tracer/llvm/world_sources.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

constexpr llvm::StringLiteral kDoneFlag = "powercut";

void instrument_call(FunctionContext& context, llvm::CallBase& call) {
  if (call.isInlineAsm()) {
    instrument_inline_asm(context, call);
    return;
  }
  instrument_byval(context, call);
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    if (instrument_memory_intrinsic(context, *intrinsic) || instrument_lanes(context, *intrinsic) ||
        instrument_x86(context, *intrinsic)) {
      return;
    }
  } else if (replace_library_call(context, call) || instrument_thread_call(context, call) ||
             instrument_atomic_call(context, call) || announce_arguments(context, call)) {
    return;
  }
  context.externals().note_call(call);
}

void instrument(FunctionContext& context, llvm::Instruction& instruction) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    instrument_load(context, *load);
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    instrument_store(context, *store);
  } else if (auto* rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    instrument_rmw(context, *rmw);
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    instrument_cmpxchg(context, *exchange);
  } else if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    instrument_fence(context, *fence);
  } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    instrument_call(context, *call);
    replace_world_source(context, *call);
  }
}

void instrument(llvm::Function& function, HookTable& hooks, Externals& externals, StoreFunctions& storing) {
  // First the list, then the changes: hooks are accesses, too.
  llvm::SmallVector<llvm::Instruction*, 64> accesses;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.mayReadOrWriteMemory() || llvm::isa<llvm::CallBase>(instruction)) {
        accesses.push_back(&instruction);
      }
    }
  }
  storing.mark(function, accesses);
  FunctionContext context(function, hooks, externals);
  count_steps(context);
  for (llvm::Instruction* access : accesses) instrument(context, *access);
  // The runtime walks frame pointers; a caller that left through a tail call would be missing from the walk.
  function.addFnAttr("frame-pointer", "all");
  function.addFnAttr("disable-tail-calls", "true");
  // Hooks read and write memory that the optimiser knew nothing of when it derived these.
  forget_memory_effects(function);
  function.removeFnAttr(llvm::Attribute::NoCallback);
  function.removeFnAttr(llvm::Attribute::NoSync);
}

llvm::GlobalVariable* string_constant(llvm::Module& module, llvm::StringRef text) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto* global = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage, bytes,
                                          "powercut.text");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global;
}

template <typename Strings>
llvm::Constant* string_table(HookTable& hooks, const Strings& strings) {
  std::vector<llvm::Constant*> entries;
  for (const std::string& text : strings) entries.push_back(string_constant(hooks.module(), text));
  auto* type = llvm::ArrayType::get(hooks.pointer(), entries.size());
  return new llvm::GlobalVariable(hooks.module(), type, true, llvm::GlobalValue::PrivateLinkage,
                                  llvm::ConstantArray::get(type, entries), "powercut.names");
}

// Line numbers of the source. A comment moves them and changes no behaviour: powercut/engine/elf_code.py hashes them
// apart.
constexpr const char* kPlacesSection = "powercut_places";

// A constructor that tells the runtime what this module is.
void register_module(HookTable& hooks, const Externals& externals, StoreFunctions& storing) {
  llvm::Module& module = hooks.module();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
  auto* constructor = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "powercut.register", module);
  constructor->setDoesNotThrow();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", constructor));
  builder.CreateCall(hooks.hook("__powercut_module", {hooks.int32(), hooks.pointer(), hooks.pointer(), hooks.int32()}),
                     {hooks.constant32(POWERCUT_HOOKS_VERSION), string_constant(module, module.getSourceFileName()),
                      string_table(hooks, externals.names()), hooks.constant32(externals.names().size())});
  const std::vector<std::string> defined = defined_functions(module);
  builder.CreateCall(hooks.hook("__powercut_defines", {hooks.pointer(), hooks.int32()}),
                     {string_table(hooks, defined), hooks.constant32(defined.size())});
  if (storing.count() != 0) {
    llvm::GlobalVariable* places = string_constant(module, storing.lines());
    places->setSection(kPlacesSection);
    builder.CreateCall(hooks.hook("__powercut_store_functions", {hooks.pointer(), hooks.int32(), hooks.pointer()}),
                       {places, hooks.constant32(storing.count()), storing.marks()});
  }
  builder.CreateRetVoid();
  llvm::appendToGlobalCtors(module, constructor, /*Priority=*/0);
}

}  // namespace

llvm::PreservedAnalyses InstrumentPass::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  // With LTO the pipeline's end is reached twice.
  if (module.getModuleFlag(kDoneFlag) != nullptr) return llvm::PreservedAnalyses::all();
  module.addModuleFlag(llvm::Module::Max, kDoneFlag, POWERCUT_HOOKS_VERSION);
  require_untyped_pointers(module.getContext());

  HookTable hooks(module);
  Externals externals;
  const SkippedFunctions skipped(module);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!skipped.contains(function)) functions.push_back(&function);
  }
  StoreFunctions storing(hooks);
  for (llvm::Function* function : functions) instrument(*function, hooks, externals, storing);
  storing.finish();
  register_module(hooks, externals, storing);
  return llvm::PreservedAnalyses::none();
}

}  // namespace powercut::pass
