// The Pintool `powercut_pin`: records the persistent-memory events of a program (tracer/stream/STREAM.md).
//
//   pin -t powercut_pin.so -stream FILE [-pool FILE]... [-loads 1] -- PROGRAM ...
//
// Only code that needs Pin is here: the calls to insert, and their arguments. The meaning of the calls is in recorder.h
// and pool_files.h. Pin's Backtrace() takes its client lock, so no lock of the recorder's is held around it. Known
// inaccuracies are in README.md.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <vector>

#include "pin.H"
#include "tracer/pin/pool_files.h"
#include "tracer/pin/recorder.h"
#include "tracer/pin/requests.h"
#include "tracer/stream/instruction.h"

namespace {

using namespace powercut::pin;

KNOB<std::string> stream_option(KNOB_MODE_WRITEONCE, "pintool", "stream", "", "file that the records go to (required)");
KNOB<std::string> pool_option(KNOB_MODE_APPEND, "pintool", "pool", "", "record every shared mapping of this file");
KNOB<BOOL> loads_option(KNOB_MODE_WRITEONCE, "pintool", "loads", "0", "record loads of pools as well");

// main() makes both objects, and nobody deletes them: callbacks may come until the process is gone.
Recorder* recorder;
PoolFiles* pools;

// The state that a thread's callback before an event leaves for the callback after the event.
struct Between {
  SystemCall call;
  UINT32 leaf, subleaf;
};
Between* between;  // by THREADID

// Flags of a store as an argument; the low half holds the stream's flags.
enum : UINT32 { kCompares = 1 << 16, kOnlyChanges = 1 << 17, kHasAfter = 1 << 18, kCompressed = 1 << 19 };

class Backtrace {
 public:
  // `ip` is the instruction's address and `next` the address behind the instruction: a trace has return addresses. With
  // an `ip` of 0 the context is past the instruction already.
  Backtrace(const CONTEXT* context, ADDRINT ip, ADDRINT next) {
    VOID* found[kDepth];
    PIN_LockClient();
    const int depth = PIN_Backtrace(context, found, kDepth);
    PIN_UnlockClient();
    if (ip != 0) addresses_[count_++] = next;
    for (int i = 0; i < depth; ++i) {
      const ADDRINT address = reinterpret_cast<ADDRINT>(found[i]);
      if (i != 0 || address != ip) addresses_[count_++] = address;
    }
  }
  Frames frames() const { return Frames{addresses_, count_}; }

 private:
  static constexpr int kDepth = 64;
  uint64_t addresses_[kDepth + 1];
  UINT32 count_ = 0;
};

Store store_of(UINT32 bits) {
  Store store;
  store.flags = bits & 0xFFFF;
  store.compares = (bits & kCompares) != 0;
  store.only_changes = (bits & kOnlyChanges) != 0;
  store.has_after = (bits & kHasAfter) != 0;
  return store;
}

// ---- analysis: called by instrumented code. The functions that answer ADDRINT are small enough to be inlined. ----

ADDRINT is_near(ADDRINT address, UINT32 size) { return recorder->near_pools(address, size); }
ADDRINT has_pending(THREADID thread) { return recorder->has_pending(thread); }
ADDRINT had_pools() { return recorder->had_pools(); }
ADDRINT is_bare_lock(THREADID thread, ADDRINT address, UINT32 size) {
  return recorder->is_unfenced(thread) && !recorder->near_pools(address, size);
}

VOID before_fence(THREADID thread, UINT32 kind, ADDRINT ip, ADDRINT next, const CONTEXT* context) {
  recorder->fence(thread, kind, Backtrace(context, ip, next).frames());
}

VOID begin_store(THREADID thread, const std::vector<Piece>& pieces, UINT32 bits, ADDRINT ip, ADDRINT next,
                 const CONTEXT* context) {
  bool touches = false;
  for (const Piece& piece : pieces) touches |= recorder->touches_pools(piece.address, piece.size);
  if (touches) {
    const Backtrace stack(context, ip, next);
    recorder->store_begins(thread, store_of(bits), pieces.data(), pieces.size(), stack.frames());
  } else if ((bits & kPowercutStoreRmw) != 0 && recorder->is_unfenced(thread)) {
    before_fence(thread, kPowercutRmwFence, ip, next, context);
  }
}

VOID before_store(THREADID thread, ADDRINT address, UINT32 size, UINT32 bits, ADDRINT ip, ADDRINT next,
                  const CONTEXT* context) {
  begin_store(thread, std::vector<Piece>(1, Piece{address, size}), bits, ip, next, context);
}

VOID before_elements(THREADID thread, const IMULTI_ELEMENT_OPERAND* operand, UINT32 bits, ADDRINT ip, ADDRINT next,
                     const CONTEXT* context) {
  std::vector<Piece> pieces;
  const UINT32 count = operand->NumOfElements();
  UINT32 set = 0;
  for (UINT32 i = 0; i < count; ++i) {
    if (operand->ElementMaskValue(i) == 0) continue;
    ++set;
    add_element(&pieces, operand->ElementAddress(i), operand->ElementSize(i));
  }
  if ((bits & kCompressed) != 0 && count != 0) {
    pieces = compressed(operand->Address(), set, operand->ElementSize(0));
  }
  begin_store(thread, pieces, bits, ip, next, context);
}

VOID before_masked_bytes(THREADID thread, ADDRINT address, const UINT8* mask, UINT32 size, UINT32 bits, ADDRINT ip,
                         ADDRINT next, const CONTEXT* context) {
  begin_store(thread, selected_bytes(address, mask, size), bits, ip, next, context);
}

VOID after_store(THREADID thread) { recorder->store_ends(thread, Outcome::kStored); }

VOID after_compare(THREADID thread, ADDRINT flags) {
  constexpr ADDRINT kZeroFlag = 1 << 6;
  recorder->store_ends(thread, (flags & kZeroFlag) != 0 ? Outcome::kStored : Outcome::kFailed);
}

VOID before_load(THREADID thread, ADDRINT address, UINT32 size) { recorder->load(thread, address, size); }

VOID before_element_loads(THREADID thread, const IMULTI_ELEMENT_OPERAND* operand) {
  for (UINT32 i = 0; i < operand->NumOfElements(); ++i) {
    const ADDRINT address = operand->ElementAddress(i);
    if (operand->ElementMaskValue(i) == 0 || !recorder->near_pools(address, operand->ElementSize(i))) continue;
    recorder->load(thread, address, operand->ElementSize(i));
  }
}

ADDRINT is_near_flush(const powercut_instruction* flush, ADDRINT base, ADDRINT index, ADDRINT segment, ADDRINT next) {
  return recorder->near_pools(powercut_flush_address(flush, base, index, segment, next), 1);
}

VOID before_flush(THREADID thread, const powercut_instruction* flush, ADDRINT base, ADDRINT index, ADDRINT segment,
                  ADDRINT ip, ADDRINT next, const CONTEXT* context) {
  const ADDRINT address = powercut_flush_address(flush, base, index, segment, next);
  recorder->flush(thread, flush->kind, address, Backtrace(context, ip, next).frames());
}

VOID before_cpuid(THREADID thread, ADDRINT leaf, ADDRINT subleaf) {
  if (thread >= Recorder::kMostThreads) return;
  between[thread].leaf = static_cast<UINT32>(leaf);
  between[thread].subleaf = static_cast<UINT32>(subleaf);
}

ADDRINT after_cpuid(THREADID thread, ADDRINT rbx) {
  if (thread >= Recorder::kMostThreads) return rbx;
  const Between& asked = between[thread];
  return powercut_shown_features(asked.leaf, asked.subleaf, static_cast<UINT32>(rbx));
}

ADDRINT is_our_request(ADDRINT arguments) { return is_mark(recorder->host(), arguments); }

ADDRINT before_request(THREADID thread, ADDRINT arguments, ADDRINT ip, ADDRINT next, const CONTEXT* context) {
  return answer_mark(*recorder, *pools, thread, arguments, Backtrace(context, ip, next).frames());
}

// ---- instrumentation: called once for each instruction before it first runs ----

// Returns the general register of the machine's number.
REG general_register(UINT8 number) {
  static const REG kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  // An address that lacks this register ignores the value, so any register will do.
  return number < 16 ? kRegisters[number] : REG_RAX;
}

template <typename Function>
AFUNPTR function(Function* pointer) {
  return reinterpret_cast<AFUNPTR>(pointer);
}

VOID instrument_flush(INS ins, const powercut_instruction& decoded, ADDRINT ip, ADDRINT next) {
  // The object stands for one flush of the program, for as long as the flush's code is there.
  const powercut_instruction* const flush = new powercut_instruction(decoded);
  const REG base = general_register(flush->base), index = general_register(flush->index);
  const REG segment = flush->segment == kPowercutSegmentFs   ? REG_SEG_FS_BASE
                      : flush->segment == kPowercutSegmentGs ? REG_SEG_GS_BASE
                                                             : REG_RAX;
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(is_near_flush), IARG_PTR, flush, IARG_REG_VALUE, base, IARG_REG_VALUE,
                   index, IARG_REG_VALUE, segment, IARG_ADDRINT, next, IARG_END);
  INS_InsertThenCall(ins, IPOINT_BEFORE, function(before_flush), IARG_THREAD_ID, IARG_PTR, flush, IARG_REG_VALUE, base,
                     IARG_REG_VALUE, index, IARG_REG_VALUE, segment, IARG_ADDRINT, ip, IARG_ADDRINT, next,
                     IARG_CONST_CONTEXT, IARG_END);
  // The instruction changes no memory, and this CPU may not know it.
  INS_Delete(ins);
}

VOID instrument_fence(INS ins, UINT32 kind, ADDRINT ip, ADDRINT next) {
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(had_pools), IARG_END);
  INS_InsertThenCall(ins, IPOINT_BEFORE, function(before_fence), IARG_THREAD_ID, IARG_UINT32, kind, IARG_ADDRINT, ip,
                     IARG_ADDRINT, next, IARG_CONST_CONTEXT, IARG_END);
}

VOID instrument_cpuid(INS ins) {
  INS_InsertCall(ins, IPOINT_BEFORE, function(before_cpuid), IARG_THREAD_ID, IARG_REG_VALUE, REG_RAX, IARG_REG_VALUE,
                 REG_RCX, IARG_END);
  INS_InsertCall(ins, IPOINT_AFTER, function(after_cpuid), IARG_THREAD_ID, IARG_REG_VALUE, REG_RBX, IARG_RETURN_REGS,
                 REG_RBX, IARG_END);
}

VOID instrument_request(INS ins, ADDRINT ip, ADDRINT next) {
  UINT8 before[kPowercutRequestSize];
  const VOID* const from = reinterpret_cast<const VOID*>(ip - sizeof before);
  if (PIN_FetchCode(before, from, sizeof before, nullptr) != sizeof before) return;
  if (powercut_is_request(before) == 0) return;
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(is_our_request), IARG_REG_VALUE, REG_RAX, IARG_END);
  INS_InsertThenCall(ins, IPOINT_BEFORE, function(before_request), IARG_THREAD_ID, IARG_REG_VALUE, REG_RAX,
                     IARG_ADDRINT, ip, IARG_ADDRINT, next, IARG_CONST_CONTEXT, IARG_RETURN_REGS, REG_RDX, IARG_END);
}

VOID instrument_load(INS ins, UINT32 operand) {
  if (INS_HasScatteredMemoryAccess(ins)) {
    if (!INS_IsValidForIarg(ins, IARG_MULTI_ELEMENT_OPERAND)) return;
    INS_InsertPredicatedCall(ins, IPOINT_BEFORE, function(before_element_loads), IARG_THREAD_ID,
                             IARG_MULTI_ELEMENT_OPERAND, INS_MemoryOperandIndexToOperandIndex(ins, operand), IARG_END);
    return;
  }
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(is_near), IARG_MEMORYOP_EA, operand, IARG_MEMORYOP_SIZE, operand,
                   IARG_END);
  INS_InsertThenPredicatedCall(ins, IPOINT_BEFORE, function(before_load), IARG_THREAD_ID, IARG_MEMORYOP_EA, operand,
                               IARG_MEMORYOP_SIZE, operand, IARG_END);
}

// Inserts the calls after a store, at each way out of its instruction. Returns whether there is any way out.
bool instrument_after(INS ins, const powercut_instruction& form) {
  bool any = false;
  for (const IPOINT point : {IPOINT_AFTER, IPOINT_TAKEN_BRANCH}) {
    if (point == IPOINT_AFTER ? !INS_IsValidForIpointAfter(ins) : !INS_IsValidForIpointTakenBranch(ins)) continue;
    INS_InsertIfCall(ins, point, function(has_pending), IARG_THREAD_ID, IARG_END);
    if (form.compares) {
      INS_InsertThenCall(ins, point, function(after_compare), IARG_THREAD_ID, IARG_REG_VALUE, REG_RFLAGS, IARG_END);
    } else {
      INS_InsertThenCall(ins, point, function(after_store), IARG_THREAD_ID, IARG_END);
    }
    any = true;
  }
  return any;
}

VOID instrument_store(INS ins, UINT32 operand, const powercut_instruction& form, ADDRINT ip, ADDRINT next) {
  UINT32 bits = (form.kind == kPowercutInsnNtStore ? UINT32{kPowercutStoreNt} : 0u) |
                (form.kind == kPowercutInsnStringStore ? UINT32{kPowercutStoreString | kPowercutStoreRound} : 0u) |
                (form.whole ? UINT32{kPowercutStoreAtomic} : 0u) |
                (form.locked ? UINT32{kPowercutStoreAtomic} | kPowercutStoreRmw : 0u) |
                (form.compares ? kCompares : 0u) | (instrument_after(ins, form) ? kHasAfter : 0u);
  const bool scattered = INS_HasScatteredMemoryAccess(ins);
  if (scattered || form.mask == kPowercutMaskElements || form.mask == kPowercutMaskCompressed) {
    if (INS_IsValidForIarg(ins, IARG_MULTI_ELEMENT_OPERAND)) {
      if (form.mask == kPowercutMaskCompressed) bits |= kCompressed;
      INS_InsertPredicatedCall(ins, IPOINT_BEFORE, function(before_elements), IARG_THREAD_ID,
                               IARG_MULTI_ELEMENT_OPERAND, INS_MemoryOperandIndexToOperandIndex(ins, operand),
                               IARG_UINT32, bits, IARG_ADDRINT, ip, IARG_ADDRINT, next, IARG_CONST_CONTEXT, IARG_END);
      return;
    }
    if (scattered) {
      recorder->note(kPowercutNoteOther, "this version of Pin does not tell where a scatter stores: not recorded");
      return;
    }
    bits |= kOnlyChanges;
  }
  if (form.mask == kPowercutMaskBytes) {
    const REG first = form.mask_is_mmx ? REG_MM0 : REG_XMM0;
    INS_InsertPredicatedCall(ins, IPOINT_BEFORE, function(before_masked_bytes), IARG_THREAD_ID, IARG_MEMORYOP_EA,
                             operand, IARG_REG_CONST_REFERENCE, static_cast<REG>(first + form.mask_register),
                             IARG_UINT32, form.mask_is_mmx ? 8 : 16, IARG_UINT32, bits, IARG_ADDRINT, ip, IARG_ADDRINT,
                             next, IARG_CONST_CONTEXT, IARG_END);
    return;
  }
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(is_near), IARG_MEMORYOP_EA, operand, IARG_MEMORYOP_SIZE, operand,
                   IARG_END);
  INS_InsertThenPredicatedCall(ins, IPOINT_BEFORE, function(before_store), IARG_THREAD_ID, IARG_MEMORYOP_EA, operand,
                               IARG_MEMORYOP_SIZE, operand, IARG_UINT32, bits, IARG_ADDRINT, ip, IARG_ADDRINT, next,
                               IARG_CONST_CONTEXT, IARG_END);
  if (!form.locked) return;
  INS_InsertIfCall(ins, IPOINT_BEFORE, function(is_bare_lock), IARG_THREAD_ID, IARG_MEMORYOP_EA, operand,
                   IARG_MEMORYOP_SIZE, operand, IARG_END);
  INS_InsertThenCall(ins, IPOINT_BEFORE, function(before_fence), IARG_THREAD_ID, IARG_UINT32, UINT32{kPowercutRmwFence},
                     IARG_ADDRINT, ip, IARG_ADDRINT, next, IARG_CONST_CONTEXT, IARG_END);
}

VOID instrument(INS ins, VOID*) {
  if (!recorder->recording()) return;
  UINT8 bytes[kPowercutLongestInstruction];
  const ADDRINT ip = INS_Address(ins), next = ip + INS_Size(ins);
  const size_t size = INS_Size(ins) < sizeof bytes ? INS_Size(ins) : sizeof bytes;
  const size_t fetched = PIN_FetchCode(bytes, reinterpret_cast<const VOID*>(ip), size, nullptr);
  const powercut_instruction form = powercut_decode(bytes, static_cast<UINT32>(fetched));
  switch (form.kind) {
    case kPowercutInsnClwb:
    case kPowercutInsnClflushopt:
    case kPowercutInsnClflush:
      return instrument_flush(ins, form, ip, next);
    case kPowercutInsnSfence:
      return instrument_fence(ins, kPowercutSfence, ip, next);
    case kPowercutInsnMfence:
      return instrument_fence(ins, kPowercutMfence, ip, next);
    case kPowercutInsnOther:
    case kPowercutInsnLfence:
    case kPowercutInsnNtStore:
    case kPowercutInsnStringStore:
      break;
  }
  if (form.cpuid) return instrument_cpuid(ins);
  if (form.may_request) return instrument_request(ins, ip, next);
  for (UINT32 operand = 0; operand < INS_MemoryOperandCount(ins); ++operand) {
    if (loads_option.Value() && INS_MemoryOperandIsRead(ins, operand)) instrument_load(ins, operand);
    if (INS_MemoryOperandIsWritten(ins, operand)) instrument_store(ins, operand, form, ip, next);
  }
}

// ---- callbacks ----

VOID image_loaded(IMG image, VOID*) {
  if (IMG_IsVDSO(image)) return;
  for (UINT32 i = 0; i < IMG_NumRegions(image); ++i) {
    recorder->module_loaded(IMG_Name(image), IMG_RegionLowAddress(image, i), IMG_RegionHighAddress(image, i) + 1,
                            IMG_LoadOffset(image));
  }
}

VOID image_unloaded(IMG image, VOID*) {
  for (UINT32 i = 0; i < IMG_NumRegions(image); ++i) {
    recorder->module_unloaded(IMG_RegionLowAddress(image, i), IMG_RegionHighAddress(image, i) + 1);
  }
}

VOID thread_starts(THREADID thread, CONTEXT*, INT32, VOID*) { recorder->thread_starts(thread); }
VOID thread_ends(THREADID thread, const CONTEXT*, INT32, VOID*) { recorder->thread_ends(thread); }

VOID system_call_begins(THREADID thread, CONTEXT* context, SYSCALL_STANDARD standard, VOID*) {
  if (thread >= Recorder::kMostThreads) return;
  recorder->store_ends(thread, Outcome::kUnknown);
  SystemCall& call = between[thread].call;
  call.number = PIN_GetSyscallNumber(context, standard);
  for (UINT32 i = 0; i < 6; ++i) call.arguments[i] = PIN_GetSyscallArgument(context, standard, i);
  const int own = pools->closes_stream(call);
  // The program sees a descriptor of its own that is not open, so closing it fails as if it were not.
  if (own >= 0) PIN_SetSyscallArgument(context, standard, static_cast<UINT32>(own), ~ADDRINT{0});
  pools->before(thread, call);
}

VOID system_call_ends(THREADID thread, CONTEXT* context, SYSCALL_STANDARD standard, VOID*) {
  if (thread >= Recorder::kMostThreads || PIN_GetSyscallErrno(context, standard) != 0) return;
  const Effect effect = pools->effect_of(between[thread].call, PIN_GetSyscallReturn(context, standard));
  if (effect.kind == Effect::kNothing) return;
  pools->apply(thread, effect, Backtrace(context, 0, 0).frames());
}

VOID forked_in_parent(THREADID, const CONTEXT*, VOID*) {
  recorder->resume();
  recorder->note(kPowercutNoteFork, "the program started a child: it was not recorded");
}

VOID forked_in_child(THREADID, const CONTEXT*, VOID*) { recorder->abandon(); }

VOID context_changes(THREADID thread, CONTEXT_CHANGE_REASON reason, const CONTEXT*, CONTEXT*, INT32 info, VOID*) {
  if (reason != CONTEXT_CHANGE_REASON_SIGNAL && reason != CONTEXT_CHANGE_REASON_FATALSIGNAL) return;
  recorder->interrupted(thread);
  if (reason == CONTEXT_CHANGE_REASON_SIGNAL) return recorder->write_out();
  recorder->end(kPowercutSignalled, static_cast<uint32_t>(info));
}

VOID finish(INT32 code, VOID*) { recorder->end(kPowercutExited, static_cast<uint32_t>(code)); }

size_t copy_from_program(void* to, uint64_t from, size_t size) {
  return PIN_SafeCopy(to, reinterpret_cast<const VOID*>(from), size);
}

}  // namespace

int main(int argc, char** argv) {
  PIN_InitSymbols();
  if (PIN_Init(argc, argv) || stream_option.Value().empty()) {
    fprintf(stderr, "powercut: this Pintool needs -stream FILE. 'powercut record' starts it with all that it needs.\n");
    return 1;
  }
  recorder = new Recorder(Host{copy_from_program, PIN_Yield});
  if (!recorder->open(stream_option.Value().c_str())) {
    fprintf(stderr, "powercut: cannot write %s (%s). Name another file with -stream.\n", stream_option.Value().c_str(),
            strerror(errno));
    return 1;
  }
  pools = new PoolFiles(*recorder, loads_option.Value());
  between = new Between[Recorder::kMostThreads]();
  for (UINT32 i = 0; i < pool_option.NumberOfValues(); ++i) pools->name(pool_option.Value(i));
  pools->begin();

  IMG_AddInstrumentFunction(image_loaded, nullptr);
  IMG_AddUnloadFunction(image_unloaded, nullptr);
  INS_AddInstrumentFunction(instrument, nullptr);
  PIN_AddThreadStartFunction(thread_starts, nullptr);
  PIN_AddThreadFiniFunction(thread_ends, nullptr);
  PIN_AddSyscallEntryFunction(system_call_begins, nullptr);
  PIN_AddSyscallExitFunction(system_call_ends, nullptr);
  PIN_AddForkFunction(FPOINT_AFTER_IN_PARENT, forked_in_parent, nullptr);
  PIN_AddForkFunction(FPOINT_AFTER_IN_CHILD, forked_in_child, nullptr);
  PIN_AddContextChangeFunction(context_changes, nullptr);
  PIN_AddFiniFunction(finish, nullptr);
  PIN_StartProgram();
  return 0;
}
