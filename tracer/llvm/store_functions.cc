#include "tracer/llvm/store_functions.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FormatVariadic.h>

#include <set>
#include <utility>

#include "tracer/llvm/llvm_version.h"

namespace powercut::pass {
namespace {

bool contains(llvm::StringRef text, llvm::StringRef part) { return text.find(part) != llvm::StringRef::npos; }

bool may_be_persistent(const llvm::Value* address) {
  if (address->getType()->isPointerTy() && address->getType()->getPointerAddressSpace() != 0) return false;
  const llvm::Value* object = llvm::getUnderlyingObject(address);
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) return !argument->hasStructRetAttr();
  return !llvm::isa<llvm::AllocaInst>(object) && !llvm::isa<llvm::GlobalVariable>(object);
}

// Functions of libc that write to the memory of their first argument.
const llvm::StringSet<>& writers() {
  static const llvm::StringSet<> names = {
      "memcpy",         "memmove",        "mempcpy",         "memset",        "bzero",         "strcpy",
      "stpcpy",         "strncpy",        "stpncpy",         "strcat",        "strncat",       "sprintf",
      "snprintf",       "vsprintf",       "vsnprintf",       "__memcpy_chk",  "__memmove_chk", "__mempcpy_chk",
      "__memset_chk",   "__strcpy_chk",   "__stpcpy_chk",    "__strncpy_chk", "__strcat_chk",  "__sprintf_chk",
      "__snprintf_chk", "__vsprintf_chk", "__vsnprintf_chk",
  };
  return names;
}

// Members of std::atomic that are not inlined. Members that only load are const, which their names say ("_ZNK").
bool is_atomic_member(llvm::StringRef name) {
  for (const llvm::StringRef start : {"_ZNSt6atomic", "_ZNVSt6atomic", "_ZNSt13__atomic_base", "_ZNVSt13__atomic_base",
                                      "_ZNSt12__atomic_float", "_ZNSt10atomic_ref", "_ZNSt16__atomic_ref"}) {
    if (starts_with(name, start)) return true;
  }
  return false;
}

bool intrinsic_stores(const llvm::IntrinsicInst& call) {
  if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&call)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(memory->getLength());
    return (length == nullptr || !length->isZero()) && may_be_persistent(memory->getRawDest());
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_store:
    case llvm::Intrinsic::masked_compressstore:
      return may_be_persistent(call.getArgOperand(1));
    case llvm::Intrinsic::masked_scatter:
      return true;
    case llvm::Intrinsic::x86_directstore32:
    case llvm::Intrinsic::x86_directstore64:
    case llvm::Intrinsic::x86_movdir64b:
      return may_be_persistent(call.getArgOperand(0));
    default: {
      const llvm::StringRef name = call.getCalledFunction()->getName();
      return starts_with(name, "llvm.x86.") && (contains(name, "maskstore") || contains(name, "maskmov"));
    }
  }
}

// Assembly of flushes and fences alone has no such instruction.
bool asm_stores(llvm::StringRef text) {
  for (const llvm::StringRef part : {"mov", "xchg", "xadd", "lock", "stos"}) {
    if (contains(text, part)) return true;
  }
  return false;
}

bool call_stores(const llvm::CallBase& call) {
  if (const auto* text = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    return call.mayWriteToMemory() && asm_stores(text->getAsmString());
  }
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) return intrinsic_stores(*intrinsic);
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
  if (callee == nullptr || call.arg_size() == 0 || !call.getArgOperand(0)->getType()->isPointerTy()) return false;
  const llvm::StringRef name = callee->getName();
  const bool writes = callee->isDeclaration() && (writers().contains(name) || starts_with(name, "__atomic_store") ||
                                                  starts_with(name, "__atomic_exchange"));
  return (writes || is_atomic_member(name)) && may_be_persistent(call.getArgOperand(0));
}

bool stores(const llvm::Instruction& instruction) {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    return may_be_persistent(store->getPointerOperand());
  }
  if (const auto* rmw = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    return may_be_persistent(rmw->getPointerOperand());
  }
  if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    return may_be_persistent(exchange->getPointerOperand());
  }
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && call_stores(*call);
}

// Files of the system, and of powercut's headers, as of powercut.symbols.symbolize; those for adapters as well.
bool is_users(llvm::StringRef file) {
  if (starts_with(file, "/usr/share/")) return true;
  for (const llvm::StringRef start : {"/usr/", "/build/", "/lib/", "<"}) {
    if (starts_with(file, start)) return false;
  }
  for (const llvm::StringRef part :
       {"/lib/clang/", "powercut/pmem.h", "powercut/block.h", "powercut/flash.h", "powercut/target.h",
        "tracer/runtime/", "targets/common/options.h", "targets/common/drawing.h"}) {
    if (contains(file, part)) return false;
  }
  return true;
}

std::string path_of(const llvm::DISubprogram& function) {
  const llvm::StringRef name = function.getFilename(), folder = function.getDirectory();
  if (starts_with(name, "/") || starts_with(name, "<") || folder.empty()) return name.str();
  return (folder + "/" + name).str();
}

std::string line_of(llvm::StringRef name, llvm::StringRef file, uint32_t line) {
  std::string text = demangled(name) + "\t" + file.str() + "\t" + llvm::formatv("{0:d6}", line).str();
  for (char& character : text) {
    if (character == '\n') character = ' ';
  }
  return text;
}

std::string line_of(const llvm::DISubprogram& function) {
  const llvm::StringRef name = function.getLinkageName().empty() ? function.getName() : function.getLinkageName();
  return line_of(name, path_of(function), function.getLine());
}

// The function as the user wrote it; empty for one that is not the user's.
std::string place_of(const llvm::Function& function) {
  if (const llvm::DISubprogram* own = function.getSubprogram()) return is_users(path_of(*own)) ? line_of(*own) : "";
  // Without debug information only names tell.
  const llvm::StringRef name = function.getName();
  for (const llvm::StringRef start : {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "powercut_"}) {
    if (starts_with(name, start)) return "";
  }
  return line_of(name, function.getParent()->getSourceFileName(), 0);
}

// The innermost function of the user's that the instruction was written in or inlined into; empty without one.
std::string place_of(const llvm::Function& function, const llvm::Instruction& instruction) {
  for (const llvm::DILocation* at = instruction.getDebugLoc(); at != nullptr; at = at->getInlinedAt()) {
    const llvm::DISubprogram* scope = at->getScope()->getSubprogram();
    if (scope != nullptr && is_users(path_of(*scope))) return line_of(*scope);
  }
  return place_of(function);
}

}  // namespace

void StoreFunctions::mark(llvm::Function& function, llvm::ArrayRef<llvm::Instruction*> accesses) {
  std::set<std::pair<const llvm::BasicBlock*, uint32_t>> marked;
  // A function that is entered and returns before its first store was reached.
  const std::string own = place_of(function);
  bool entered = false;
  for (llvm::Instruction* access : accesses) {
    if (!stores(*access)) continue;
    const std::string place = place_of(function, *access);
    if (place.empty()) continue;
    const uint32_t number = number_of(place);
    if (place == own && !entered) {
      entered = true;
      put_mark(first_behind_allocas(function.getEntryBlock()), number);
    }
    if (place == own || !marked.emplace(access->getParent(), number).second) continue;
    put_mark(access, number);
  }
}

void StoreFunctions::put_mark(llvm::Instruction* before, uint32_t number) {
  llvm::IRBuilder<> builder(before);
  llvm::Type* byte = builder.getInt8Ty();
  llvm::Value* base = builder.CreateAlignedLoad(hooks_.pointer(), marks(), llvm::Align(8));
  llvm::Value* at = builder.CreateConstInBoundsGEP1_64(byte, base, number);
  llvm::StoreInst* store = builder.CreateAlignedStore(llvm::ConstantInt::get(byte, 1), at, llvm::Align(1));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);  // threads may meet here
}

uint32_t StoreFunctions::number_of(const std::string& line) {
  return numbers_.try_emplace(line, count()).first->second;
}

std::string StoreFunctions::lines() const {
  std::vector<const std::string*> ordered(numbers_.size());
  for (const auto& [line, number] : numbers_) ordered[number] = &line;
  std::string text;
  for (const std::string* line : ordered) text += *line + "\n";
  return text;
}

llvm::GlobalVariable* StoreFunctions::marks() {
  if (marks_ == nullptr) {
    marks_ = new llvm::GlobalVariable(hooks_.module(), hooks_.pointer(), false, llvm::GlobalValue::InternalLinkage,
                                      llvm::ConstantPointerNull::get(hooks_.pointer()), "powercut.reached");
  }
  return marks_;
}

void StoreFunctions::finish() {
  if (marks_ == nullptr) return;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(hooks_.module().getContext()), count());
  marks_->setInitializer(new llvm::GlobalVariable(hooks_.module(), type, false, llvm::GlobalValue::InternalLinkage,
                                                  llvm::ConstantAggregateZero::get(type), "powercut.unregistered"));
}

}  // namespace powercut::pass
