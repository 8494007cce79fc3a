// Plain loads and stores: scalars, vectors, aggregates, of any size.
#include "tracer/llvm/instrument.h"
#include "tracer/runtime/hooks.h"

namespace powercut::pass {
namespace {

// Segment-relative pointers (address spaces 256 and up on x86) are thread-locals, never a pool.
bool is_flat(const llvm::Value* address) { return address->getType()->getPointerAddressSpace() == 0; }

bool never_announced(FunctionContext& context, const llvm::Instruction& access, llvm::Value* address, uint64_t size) {
  if (!is_flat(address) || address->isSwiftError()) return true;
  // An atomic access is meant for other threads as well, and a scheduler of threads has to hear of it.
  return !access.isAtomic() && is_own_stack(address, size, context.hooks().layout());
}

// The code generator honours !nontemporal where the machine has such a store and drops it silently elsewhere; a
// dropped one stays in the cache and needs a flush, so calling it non-temporal would hide a bug. LLVM 19:
// integers and vectors of a multiple of 4 bytes become MOVNTI or MOVNTPS and its kin, whatever their alignment;
// float, double, x87 and narrow integers become plain stores. At -O0 an unaligned vector does, too.
bool is_really_non_temporal(const llvm::StoreInst& store, const llvm::DataLayout& layout) {
  if (!store.hasMetadata(llvm::LLVMContext::MD_nontemporal)) return false;
  const llvm::Type* type = store.getValueOperand()->getType();
  const uint64_t size = layout.getTypeStoreSize(store.getValueOperand()->getType()).getFixedValue();
  if (size % 4 != 0) return false;
  if (type->isIntegerTy() || type->isPointerTy()) return true;
  if (!type->isVectorTy()) return false;
  return store.getAlign().value() >= size || !store.getFunction()->hasOptNone();
}

}  // namespace

void instrument_load(FunctionContext& context, llvm::LoadInst& load) {
  const uint64_t size = context.hooks().layout().getTypeStoreSize(load.getType()).getKnownMinValue();
  if (size == 0 || never_announced(context, load, load.getPointerOperand(), size)) return;
  if (is_constant_data(load.getPointerOperand(), size, context.hooks().layout())) return;
  llvm::Value* place = context.announce_load(&load, load.getPointerOperand(), size);
  load.setOperand(llvm::LoadInst::getPointerOperandIndex(), place);
}

void instrument_store(FunctionContext& context, llvm::StoreInst& store) {
  const llvm::DataLayout& layout = context.hooks().layout();
  llvm::Value* address = store.getPointerOperand();
  const uint64_t size = layout.getTypeStoreSize(store.getValueOperand()->getType()).getKnownMinValue();
  if (size == 0) return;
  if (store.getOrdering() == llvm::AtomicOrdering::SequentiallyConsistent &&
      store.getSyncScopeID() != llvm::SyncScope::SingleThread) {
    // The backend makes an xchg of it, which is locked: a fence wherever it stores.
    llvm::Value* place = announce_rmw(context, store, store.getNextNode(), address, size);
    store.setOperand(llvm::StoreInst::getPointerOperandIndex(), place);
    return;
  }
  if (never_announced(context, store, address, size)) return;
  uint32_t flags = 0;
  if (is_really_non_temporal(store, layout)) flags |= POWERCUT_STORE_NT;
  if (store.isAtomic()) flags |= POWERCUT_STORE_ATOMIC;
  llvm::Value* place = context.announce_store(&store, address, store.getValueOperand(), flags);
  store.setOperand(llvm::StoreInst::getPointerOperandIndex(), place);
}

}  // namespace powercut::pass
