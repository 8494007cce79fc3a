// memcpy and its kin, as intrinsics and as calls of libc.
#include <llvm/ADT/StringSet.h>

#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

// Copies up to this size are announced inline and keep their intrinsic, which the backend turns into a few
// moves; longer ones, and those of unknown length, go to the runtime.
constexpr uint64_t kInlineCopy = 64;

// Stand-ins that tracer/runtime/hooks/memory_calls.cc defines, as __powercut_<name>.
const llvm::StringSet<>& stand_ins() {
  static const llvm::StringSet<> names = {
      "memcpy",         "memmove",        "mempcpy",         "memset",        "bcopy",         "bzero",
      "strcpy",         "stpcpy",         "strncpy",         "stpncpy",       "strcat",        "strncat",
      "strdup",         "strndup",        "memcmp",          "bcmp",          "memchr",        "strlen",
      "strnlen",        "strcmp",         "strncmp",         "strchr",        "strrchr",       "sprintf",
      "snprintf",       "vsprintf",       "vsnprintf",       "__memcpy_chk",  "__memmove_chk", "__mempcpy_chk",
      "__memset_chk",   "__strcpy_chk",   "__stpcpy_chk",    "__strncpy_chk", "__strcat_chk",  "__sprintf_chk",
      "__snprintf_chk", "__vsprintf_chk", "__vsnprintf_chk",
  };
  return names;
}

bool never_persistent(FunctionContext& context, llvm::Value* address, uint64_t size) {
  if (address->getType()->getPointerAddressSpace() != 0) return true;
  return is_own_stack(address, size, context.hooks().layout());
}

void announce_small_copy(FunctionContext& context, llvm::AnyMemTransferInst& at, uint64_t size, uint32_t flags) {
  llvm::Value* target = at.getRawDest();
  llvm::Value* source = at.getRawSource();
  if (!never_persistent(context, source, size) && !is_constant_data(source, size, context.hooks().layout())) {
    source = context.announce_load(&at, source, size);
    at.setSource(source);
  }
  if (never_persistent(context, target, size)) return;
  HookBuilder slow = context.when_in_window(Window::kStore, target, &at);
  llvm::Value* there = context.call_store(slow, target, size, flags, source);
  at.setDest(context.join(&at, target, there, slow.GetInsertBlock()));
}

void announce_small_fill(FunctionContext& context, llvm::AnyMemSetInst& at, uint64_t size) {
  llvm::Value* target = at.getRawDest();
  if (never_persistent(context, target, size)) return;
  HookBuilder slow = context.when_in_window(Window::kStore, target, &at);
  llvm::AllocaInst* value = context.slot(Slot::kValue, size);
  slow.CreateMemSet(value, at.getValue(), size, llvm::Align(16));
  llvm::Value* there = context.call_store(slow, target, size, POWERCUT_STORE_MEMCALL, value);
  at.setDest(context.join(&at, target, there, slow.GetInsertBlock()));
}

// Replaces the intrinsic by a call of the runtime's stand-in.
void replace(FunctionContext& context, llvm::IntrinsicInst& call, llvm::StringRef name, llvm::Value* second) {
  HookTable& hooks = context.hooks();
  auto& memory = llvm::cast<llvm::AnyMemIntrinsic>(call);
  auto* type = llvm::FunctionType::get(hooks.pointer(), {hooks.pointer(), second->getType(), hooks.int64()}, false);
  llvm::FunctionCallee callee = hooks.module().getOrInsertFunction(name, type);
  HookBuilder builder = context.builder(&call);
  llvm::Value* length = builder.CreateZExtOrTrunc(memory.getLength(), hooks.int64());
  llvm::CallInst* stand_in = builder.CreateCall(callee, {memory.getRawDest(), second, length});
  stand_in->setDoesNotThrow();
  call.eraseFromParent();
}

}  // namespace

bool instrument_memory_intrinsic(FunctionContext& context, llvm::IntrinsicInst& call) {
  auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call);
  if (memory == nullptr) return false;
  if (memory->getRawDest()->getType()->getPointerAddressSpace() != 0) return true;
  HookTable& hooks = context.hooks();
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
  const uint64_t known = constant != nullptr ? constant->getLimitedValue() : UINT64_MAX;
  if (known == 0) return true;

  // An element-wise atomic operation lowers to a function of its own, which has no stand-in.
  const bool must_stay =
      llvm::isa<llvm::AtomicMemIntrinsic>(call) || llvm::isa<llvm::MemCpyInlineInst>(call) || is_inline_fill(call);
  const uint32_t flags =
      POWERCUT_STORE_MEMCALL | (llvm::isa<llvm::AtomicMemIntrinsic>(call) ? POWERCUT_STORE_ATOMIC : 0u);

  if (auto* fill = llvm::dyn_cast<llvm::AnyMemSetInst>(memory)) {
    if (known <= kInlineCopy || (must_stay && constant != nullptr)) {
      announce_small_fill(context, *fill, known);
      return true;
    }
    if (never_persistent(context, memory->getRawDest(), known)) return true;
    HookBuilder builder = context.builder(&call);
    replace(context, call, "__powercut_memset", builder.CreateZExt(fill->getValue(), hooks.int32()));
    return true;
  }
  auto* copy = llvm::cast<llvm::AnyMemTransferInst>(memory);
  llvm::Value* source = copy->getRawSource();
  if (source->getType()->getPointerAddressSpace() != 0) return true;
  if (known <= kInlineCopy) {
    announce_small_copy(context, *copy, known, flags);
    return true;
  }
  if (must_stay) {
    source = context.announce_range_load(&call, source, memory->getLength());
    copy->setSource(source);
    copy->setDest(context.announce_range_store(&call, memory->getRawDest(), memory->getLength(), source, flags));
    return true;
  }
  if (never_persistent(context, memory->getRawDest(), known) &&
      (never_persistent(context, source, known) || is_constant_data(source, known, hooks.layout()))) {
    return true;
  }
  const bool overlapping = llvm::isa<llvm::MemMoveInst>(call);
  replace(context, call, overlapping ? "__powercut_memmove" : "__powercut_memcpy", source);
  return true;
}

// The caller copies such an argument to the callee's frame, in code that only the code generator makes.
void instrument_byval(FunctionContext& context, llvm::CallBase& call) {
  const llvm::DataLayout& layout = context.hooks().layout();
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (!call.isByValArgument(i)) continue;
    llvm::Value* address = call.getArgOperand(i);
    const uint64_t size = layout.getTypeAllocSize(call.getParamByValType(i)).getFixedValue();
    if (size == 0 || never_persistent(context, address, size) || is_constant_data(address, size, layout)) continue;
    call.setArgOperand(i, context.announce_load(&call, address, size));
  }
}

bool replace_library_call(FunctionContext& context, llvm::CallBase& call) {
  llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration() || !stand_ins().contains(callee->getName())) return false;
  // Same signature, same result; and no tail call, since the stand-in looks at its caller's frame.
  llvm::FunctionCallee stand_in = context.hooks().module().getOrInsertFunction(
      ("__powercut_" + callee->getName()).str(), callee->getFunctionType());
  call.setCalledFunction(stand_in);
  // The front end's knowledge of libc's function (reads only its arguments, and the like) does not hold for the
  // stand-in, which runs a listener.
  forget_memory_effects(call);
  call.removeFnAttr(llvm::Attribute::NoCallback);
  if (auto* plain = llvm::dyn_cast<llvm::CallInst>(&call); plain != nullptr && !plain->isMustTailCall()) {
    plain->setTailCallKind(llvm::CallInst::TCK_NoTail);
  }
  return true;
}

}  // namespace powercut::pass
