// Inline assembly: the decoder's actions become hooks on the call's operands.
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/InlineAsm.h>

#include <optional>
#include <set>
#include <utility>

#include "tracer/llvm/asm/decode.h"
#include "tracer/llvm/externals.h"
#include "tracer/llvm/instrument.h"
#include "tracer/llvm/llvm_version.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

struct Operand {
  OperandKind kind = OperandKind::kRegister;
  llvm::Value* value = nullptr;   // what it holds before the assembly runs; null: only written
  llvm::Type* element = nullptr;  // of memory operands
  std::string reg{};              // constraint "{ax}": "ax"
  bool written = false;
  int argument = -1;   // of the call
  bool moved = false;  // the argument leads to where the bytes are kept
};

class AsmOperands {
 public:
  AsmOperands(llvm::CallBase& call, const llvm::InlineAsm& assembly) {
    unsigned argument = 0;
    for (const llvm::InlineAsm::ConstraintInfo& info : assembly.ParseConstraints()) {
      if (info.Type == llvm::InlineAsm::isClobber) {
        memory_clobber_ |= !info.Codes.empty() && info.Codes[0] == "{memory}";
        continue;
      }
      if (is_label(info)) {
        operands_.push_back({.kind = OperandKind::kImmediate});
        continue;
      }
      add(info, call, &argument);
    }
  }

  const Operand* at(int number) const {
    return number >= 0 && static_cast<size_t>(number) < operands_.size() ? &operands_[number] : nullptr;
  }
  Operand* at(int number) { return const_cast<Operand*>(std::as_const(*this).at(number)); }
  // The operand that is pinned to a register which the text names ("rax", "eax", "al").
  const Operand* in_register(llvm::StringRef name) const {
    for (const Operand& operand : operands_) {
      if (!operand.reg.empty() && operand.value != nullptr && canonical(operand.reg) == canonical(name))
        return &operand;
    }
    return nullptr;
  }
  std::vector<OperandKind> kinds() const {
    std::vector<OperandKind> kinds;
    for (const Operand& operand : operands_) kinds.push_back(operand.kind);
    return kinds;
  }
  const std::vector<Operand>& all() const { return operands_; }
  // The compiler was told that memory may change.
  bool may_write_memory() const {
    for (const Operand& operand : operands_) {
      if (operand.kind == OperandKind::kMemory && operand.written) return true;
    }
    return memory_clobber_;
  }

 private:
  void add(const llvm::InlineAsm::ConstraintInfo& info, llvm::CallBase& call, unsigned* argument) {
    Operand operand;
    operand.written = info.Type == llvm::InlineAsm::isOutput;
    const std::string code = info.Codes.empty() ? "" : info.Codes[0];
    if (starts_with(code, "{") && ends_with(code, "}")) {
      operand.reg = code.substr(1, code.size() - 2);
    }
    if (info.isIndirect) {
      operand.kind = OperandKind::kMemory;
    } else if (code == "p") {
      operand.kind = OperandKind::kAddress;
    } else if (code == "i" || code == "n" || code == "I" || code == "K" || code == "N" || code == "e" || code == "Z") {
      operand.kind = OperandKind::kImmediate;
    }
    if (info.Type == llvm::InlineAsm::isInput || info.isIndirect) {
      operand.argument = static_cast<int>(*argument);
      operand.value = call.getArgOperand(*argument);
      operand.element = call.getAttributes().getParamElementType(*argument);
      // Before LLVM 15 a label of "asm goto" is an input.
      if (llvm::isa<llvm::BlockAddress>(operand.value)) operand.kind = OperandKind::kImmediate;
      ++*argument;
      // "+r" is an output and an input tied to it: both numbers name the register that holds the input.
      if (info.hasMatchingInput()) operand.written = true;
      int tied = 0;
      if (!llvm::StringRef(code).getAsInteger(10, tied) && tied < static_cast<int>(operands_.size())) {
        Operand& output = operands_[tied];
        if (output.value == nullptr) output.value = operand.value;
        operand.kind = output.kind;
        operand.reg = output.reg;
      }
    }
    operands_.push_back(operand);
  }

  // "rax", "eax" and "ax" are one register.
  static std::string canonical(llvm::StringRef name) {
    if (starts_with(name, "r") && name.size() > 1 && llvm::isDigit(name[1])) return name.rtrim("bwd").str();
    if (name.size() == 3 && (name[0] == 'r' || name[0] == 'e')) return name.drop_front().str();
    return name.str();
  }

  std::vector<Operand> operands_;
  bool memory_clobber_ = false;
};

class AsmInstrumenter {
 public:
  AsmInstrumenter(FunctionContext& context, llvm::CallBase& call, const llvm::InlineAsm& assembly)
      : context_(context), call_(call), text_(assembly.getAsmString()), operands_(call, assembly), at_(&call) {
    intel_ = assembly.getDialect() == llvm::InlineAsm::AD_Intel;
  }

  void run() {
    const std::vector<AsmAction> actions = decode_asm({text_.data(), text_.size()}, intel_, operands_.kinds());
    // The kernel does not fault on a watched pool but answers EFAULT.
    if (text_.contains("syscall") || text_.contains("sysenter") || text_.contains("int $$0x80")) {
      context_.builder(&call_).CreateCall(context_.hooks().hook("__powercut_enters_kernel", {}));
    }
    bool only_persistency = !actions.empty();
    bool opaque = false;
    for (const AsmAction& action : actions) {
      only_persistency &= action.effect == AsmEffect::kFlush || action.effect == AsmEffect::kFence;
      if (action.value.operand >= 0) values_.insert(action.value.operand);
    }
    for (const AsmAction& action : actions) opaque |= !announce(action);
    if (opaque && operands_.may_write_memory()) context_.externals().note_asm({text_.data(), text_.size()});
    if (only_persistency && !opaque && call_.getType()->isVoidTy() && llvm::isa<llvm::CallInst>(call_)) {
      context_.run_only_for_real(&call_);
    }
  }

 private:
  // False when the action cannot be announced.
  bool announce(const AsmAction& action);
  bool announce_locked(const AsmAction& action);
  llvm::Value* address_of(llvm::IRBuilder<>& builder, const AsmAddress& address) const;
  // Makes the assembly use `place` where it would use `address`, if the operand serves for nothing else. Where it does,
  // the access is announced here and, in a pool that has an alias, seen again when it faults.
  void redirect(const AsmAddress& where, llvm::Value* address, llvm::Value* place);
  llvm::Value* value_of(llvm::IRBuilder<>& builder, const AsmValue& value, uint64_t size) const;
  uint64_t size_of(const AsmAction& action) const;
  llvm::Value* as_integer(llvm::IRBuilder<>& builder, const Operand* operand) const;

  FunctionContext& context_;
  llvm::CallBase& call_;
  llvm::StringRef text_;
  AsmOperands operands_;
  bool intel_ = false;
  std::set<int> values_;   // operands whose value is stored
  llvm::Instruction* at_;  // where the next hook goes: behind the assembly once that modified memory
};

llvm::Value* AsmInstrumenter::as_integer(llvm::IRBuilder<>& builder, const Operand* operand) const {
  if (operand == nullptr || operand->value == nullptr) return nullptr;
  llvm::IntegerType* int64 = context_.hooks().int64();
  if (operand->value->getType()->isPointerTy()) return builder.CreatePtrToInt(operand->value, int64);
  if (operand->value->getType()->isIntegerTy()) return builder.CreateZExtOrTrunc(operand->value, int64);
  return nullptr;
}

llvm::Value* AsmInstrumenter::address_of(llvm::IRBuilder<>& builder, const AsmAddress& address) const {
  HookTable& hooks = context_.hooks();
  const Operand* base = address.operand >= 0 ? operands_.at(address.operand) : operands_.in_register(address.reg);
  llvm::Value* sum = as_integer(builder, base);
  if (sum == nullptr) return nullptr;
  if (address.index < 0 && address.displacement == 0 && base->value->getType()->isPointerTy()) return base->value;
  if (address.index >= 0) {
    llvm::Value* index = as_integer(builder, operands_.at(address.index));
    if (index == nullptr) return nullptr;
    sum = builder.CreateAdd(sum, builder.CreateMul(index, hooks.constant64(address.scale)));
  }
  sum = builder.CreateAdd(sum, hooks.constant64(static_cast<uint64_t>(address.displacement)));
  return builder.CreateIntToPtr(sum, hooks.pointer());
}

void AsmInstrumenter::redirect(const AsmAddress& where, llvm::Value* address, llvm::Value* place) {
  Operand* base = operands_.at(where.operand);
  if (base == nullptr || base->argument < 0 || base->moved || place == address || at_ != &call_) return;
  if (!where.memory && (base->written || values_.contains(where.operand))) return;
  llvm::Value* argument = call_.getArgOperand(static_cast<unsigned>(base->argument));
  if (!argument->getType()->isPointerTy()) return;
  base->moved = true;
  HookBuilder builder = context_.builder(&call_);
  llvm::IntegerType* int64 = context_.hooks().int64();
  llvm::Value* shift = builder.CreateSub(builder.CreatePtrToInt(place, int64), builder.CreatePtrToInt(address, int64));
  call_.setArgOperand(static_cast<unsigned>(base->argument), builder.CreateGEP(builder.getInt8Ty(), argument, shift));
}

uint64_t AsmInstrumenter::size_of(const AsmAction& action) const {
  if (action.size != 0) return action.size;
  const llvm::DataLayout& layout = context_.hooks().layout();
  if (action.effect == AsmEffect::kStore) {
    const Operand* value =
        action.value.operand >= 0 ? operands_.at(action.value.operand) : operands_.in_register(action.value.reg);
    if (value != nullptr && value->value != nullptr && value->kind == OperandKind::kRegister) {
      return layout.getTypeStoreSize(value->value->getType()).getFixedValue();
    }
  }
  const Operand* memory = action.address.memory ? operands_.at(action.address.operand) : nullptr;
  if (memory == nullptr || memory->element == nullptr || !memory->element->isSized()) return 0;
  return layout.getTypeStoreSize(memory->element).getFixedValue();
}

llvm::Value* AsmInstrumenter::value_of(llvm::IRBuilder<>& builder, const AsmValue& value, uint64_t size) const {
  llvm::IntegerType* type = builder.getIntNTy(static_cast<unsigned>(8 * size));
  if (value.operand < 0 && value.reg.empty()) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(value.constant), /*IsSigned=*/true);
  }
  const Operand* operand = value.operand >= 0 ? operands_.at(value.operand) : operands_.in_register(value.reg);
  if (operand == nullptr || operand->value == nullptr) return nullptr;
  llvm::Value* held = operand->value;
  if (held->getType()->isPointerTy()) held = builder.CreatePtrToInt(held, context_.hooks().int64());
  const uint64_t held_size = context_.hooks().layout().getTypeStoreSize(held->getType()).getFixedValue();
  if (held->getType()->isIntegerTy()) {
    return held_size < size ? nullptr : builder.CreateZExtOrTrunc(held, type);
  }
  return held_size == size ? held : nullptr;
}

bool AsmInstrumenter::announce_locked(const AsmAction& action) {
  llvm::Instruction* after = after_call(call_);
  const uint64_t size = size_of(action);
  HookBuilder builder = context_.builder(&call_);
  llvm::Value* address = address_of(builder, action.address);
  const bool power_of_two = size != 0 && size <= 16 && (size & (size - 1)) == 0;
  // A second one in the same assembly, or one that leaves through a jump, has no place between.
  if (at_ != &call_ || after == nullptr || address == nullptr || !power_of_two || llvm::isa<llvm::CallBrInst>(call_)) {
    context_.announce_fence(at_, &call_, POWERCUT_RMW_FENCE);
    return false;
  }
  const auto stored = [&](HookBuilder& behind, llvm::Value* place) -> llvm::Value* {
    if (!action.may_not_store) return context_.hooks().constant32(1);
    // Whether the comparison held is in the flags. A store of equal bytes cannot be told from none, nor matters.
    llvm::IntegerType* type = behind.getIntNTy(static_cast<unsigned>(8 * size));
    llvm::Value* old_bytes = context_.builder(&call_).CreateAlignedLoad(type, place, llvm::Align(1));
    llvm::Value* new_bytes = behind.CreateAlignedLoad(type, place, llvm::Align(1));
    return behind.CreateZExt(behind.CreateICmpNE(old_bytes, new_bytes), context_.hooks().int32());
  };
  redirect(action.address, address, announce_rmw(context_, call_, after, address, size, stored));
  at_ = after;
  return true;
}

bool AsmInstrumenter::announce(const AsmAction& action) {
  switch (action.effect) {
    case AsmEffect::kOpaque:
      return false;
    case AsmEffect::kFence:
      context_.announce_fence(at_, &call_, action.code);
      return true;
    case AsmEffect::kPause:
      context_.announce_pause(at_, &call_);
      return true;
    case AsmEffect::kLockedModify:
      return announce_locked(action);
    case AsmEffect::kFlush:
    case AsmEffect::kLoad:
    case AsmEffect::kStore:
      break;
  }
  HookBuilder builder = context_.builder(at_, &call_);
  llvm::Value* address = address_of(builder, action.address);
  if (address == nullptr) return false;
  if (action.effect == AsmEffect::kFlush) {
    context_.announce_flush(at_, address, action.code);
    return true;
  }
  const uint64_t size = size_of(action);
  if (size == 0 || size > 64) return false;
  if (action.effect == AsmEffect::kLoad) {
    redirect(action.address, address, context_.announce_load(at_, address, size));
    return true;
  }
  llvm::Value* value = value_of(builder, action.value, size);
  if (value == nullptr) return false;
  redirect(action.address, address, context_.announce_store(at_, address, value, action.code));
  return true;
}

}  // namespace

void instrument_inline_asm(FunctionContext& context, llvm::CallBase& call) {
  const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  AsmInstrumenter(context, call, *assembly).run();
}

}  // namespace powercut::pass
