#include "tracer/pin/tests/fake_pin.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cstdarg>

#include "tracer/pin/tests/program.h"

int powercut_pin_main(int argc, char** argv);

namespace fake_pin {

Machine* machine;

namespace {

struct Started {};

Instruction* of(INS ins) { return machine->instructions[static_cast<size_t>(ins.id)]; }

Call read_call(Call::Kind kind, bool predicated, IPOINT point, AFUNPTR function, va_list list) {
  Call call = {kind, predicated, point, function, {}};
  for (;;) {
    const auto type = static_cast<IARG_TYPE>(va_arg(list, int));
    if (type == IARG_END) return call;
    ADDRINT value = 0;
    switch (type) {
      case IARG_PTR:
        value = reinterpret_cast<ADDRINT>(va_arg(list, void*));
        break;
      case IARG_ADDRINT:
        value = va_arg(list, ADDRINT);
        break;
      case IARG_UINT32:
      case IARG_REG_VALUE:
      case IARG_REG_CONST_REFERENCE:
      case IARG_RETURN_REGS:
      case IARG_MEMORYOP_EA:
      case IARG_MEMORYOP_SIZE:
      case IARG_MULTI_ELEMENT_OPERAND:
        value = va_arg(list, UINT32);
        break;
      case IARG_THREAD_ID:
      case IARG_CONST_CONTEXT:
        break;
      default:
        ADD_FAILURE() << "argument of type " << type;
        return call;
    }
    call.arguments.push_back({type, value});
  }
}

}  // namespace

int Machine::start() {
  machine = this;
  char name[] = "pin";
  char* argv[] = {name, nullptr};
  try {
    return powercut_pin_main(1, argv);
  } catch (Started) {
    started = true;
    return -1;
  }
}

void Machine::translate(Instruction* instruction) {
  instructions.push_back(instruction);
  instrument(INS{static_cast<int>(instructions.size() - 1)}, nullptr);
}

ADDRINT Machine::make(Instruction* instruction, const Call& call) {
  ADDRINT values[8] = {};
  size_t count = 0;
  REG result_to = REG_INVALID_;
  for (const Argument& argument : call.arguments) {
    ADDRINT value = argument.value;
    switch (argument.type) {
      case IARG_REG_VALUE:
        value = context.registers[static_cast<REG>(value)];
        break;
      case IARG_REG_CONST_REFERENCE:
        instruction->referenced = static_cast<REG>(value);
        value = reinterpret_cast<ADDRINT>(instruction->vector_register);
        break;
      case IARG_MEMORYOP_EA:
        // Pin's documentation says that after the instruction the address cannot be asked for.
        EXPECT_EQ(call.point, IPOINT_BEFORE);
        EXPECT_FALSE(instruction->scattered);
        value = instruction->operands.at(value).address;
        break;
      case IARG_MEMORYOP_SIZE:
        value = instruction->operands.at(value).size;
        break;
      case IARG_MULTI_ELEMENT_OPERAND:
        EXPECT_EQ(call.point, IPOINT_BEFORE);
        EXPECT_TRUE(instruction->tells_elements);
        value = reinterpret_cast<ADDRINT>(static_cast<IMULTI_ELEMENT_OPERAND*>(&instruction->elements));
        break;
      case IARG_THREAD_ID:
        value = thread;
        break;
      case IARG_CONST_CONTEXT:
        value = reinterpret_cast<ADDRINT>(&context);
        break;
      case IARG_RETURN_REGS:
        result_to = static_cast<REG>(value);
        continue;
      default:
        break;
    }
    if (count == std::size(values)) {
      ADD_FAILURE() << "too many arguments";
      return 0;
    }
    values[count++] = value;
  }
  // By the calling convention of x86-64 a function takes as many of these values as it has parameters.
  using Function = ADDRINT (*)(ADDRINT, ADDRINT, ADDRINT, ADDRINT, ADDRINT, ADDRINT, ADDRINT, ADDRINT);
  const ADDRINT result = reinterpret_cast<Function>(call.function)(values[0], values[1], values[2], values[3],
                                                                   values[4], values[5], values[6], values[7]);
  if (result_to != REG_INVALID_) context.registers[result_to] = result;
  return result;
}

void Machine::make_calls(Instruction* instruction, IPOINT point, bool predicate) {
  bool said_yes = false;
  for (const Call& call : instruction->calls) {
    if (call.point != point) continue;
    if (call.kind == Call::kIf) {
      // A BOOL function's result counts in its lowest byte only; these functions return ADDRINT.
      said_yes = make(instruction, call) != 0;
    } else if ((call.kind != Call::kThen || said_yes) && (!call.predicated || predicate)) {
      make(instruction, call);
    }
  }
}

void Machine::execute(Instruction* instruction, const std::function<void()>& effect, bool predicate, IPOINT leaves_by) {
  make_calls(instruction, IPOINT_BEFORE, predicate);
  if (!instruction->deleted && predicate) effect();
  make_calls(instruction, leaves_by, predicate);
  EXPECT_EQ(client_locks, 0);
}

}  // namespace fake_pin

namespace LEVEL_PINCLIENT {

using fake_pin::Call;
using fake_pin::machine;

#define INSERT(kind, predicated)                                                                          \
  va_list list;                                                                                           \
  va_start(list, function);                                                                               \
  fake_pin::of(ins)->calls.push_back(fake_pin::read_call(Call::kind, predicated, point, function, list)); \
  va_end(list);                                                                                           \
  EXPECT_TRUE(point != IPOINT_AFTER || fake_pin::of(ins)->has_after);                                     \
  EXPECT_TRUE(point != IPOINT_TAKEN_BRANCH || fake_pin::of(ins)->has_taken)

VOID INS_InsertCall(INS ins, IPOINT point, AFUNPTR function, ...) { INSERT(kPlain, false); }
VOID INS_InsertPredicatedCall(INS ins, IPOINT point, AFUNPTR function, ...) { INSERT(kPlain, true); }
VOID INS_InsertIfCall(INS ins, IPOINT point, AFUNPTR function, ...) { INSERT(kIf, false); }
VOID INS_InsertThenCall(INS ins, IPOINT point, AFUNPTR function, ...) { INSERT(kThen, false); }
VOID INS_InsertThenPredicatedCall(INS ins, IPOINT point, AFUNPTR function, ...) { INSERT(kThen, true); }
VOID INS_Delete(INS ins) { fake_pin::of(ins)->deleted = true; }

ADDRINT INS_Address(INS ins) {
  return reinterpret_cast<ADDRINT>(fake_pin::of(ins)->bytes.data() + fake_pin::of(ins)->starts);
}
USIZE INS_Size(INS ins) { return static_cast<USIZE>(fake_pin::of(ins)->bytes.size() - fake_pin::of(ins)->starts); }
UINT32 INS_MemoryOperandCount(INS ins) { return static_cast<UINT32>(fake_pin::of(ins)->operands.size()); }
BOOL INS_MemoryOperandIsRead(INS ins, UINT32 n) { return fake_pin::of(ins)->operands.at(n).read; }
BOOL INS_MemoryOperandIsWritten(INS ins, UINT32 n) { return fake_pin::of(ins)->operands.at(n).written; }
UINT32 INS_MemoryOperandIndexToOperandIndex(INS, UINT32 n) { return n; }
BOOL INS_HasScatteredMemoryAccess(INS ins) { return fake_pin::of(ins)->scattered; }
BOOL INS_IsValidForIarg(INS ins, IARG_TYPE) { return fake_pin::of(ins)->tells_elements; }
BOOL INS_IsValidForIpointAfter(INS ins) { return fake_pin::of(ins)->has_after; }
BOOL INS_IsValidForIpointTakenBranch(INS ins) { return fake_pin::of(ins)->has_taken; }

#define ADD(name, type, member)             \
  PIN_CALLBACK name(type callback, VOID*) { \
    machine->member = callback;             \
    return nullptr;                         \
  }
ADD(INS_AddInstrumentFunction, INS_INSTRUMENT_CALLBACK, instrument)
ADD(IMG_AddInstrumentFunction, IMAGECALLBACK, image_loaded)
ADD(IMG_AddUnloadFunction, IMAGECALLBACK, image_unloaded)
ADD(PIN_AddFiniFunction, FINI_CALLBACK, finish)
ADD(PIN_AddThreadStartFunction, THREAD_START_CALLBACK, thread_starts)
ADD(PIN_AddThreadFiniFunction, THREAD_FINI_CALLBACK, thread_ends)
ADD(PIN_AddSyscallEntryFunction, SYSCALL_ENTRY_CALLBACK, call_begins)
ADD(PIN_AddSyscallExitFunction, SYSCALL_EXIT_CALLBACK, call_ends)
ADD(PIN_AddContextChangeFunction, CONTEXT_CHANGE_CALLBACK, context_changes)
PIN_CALLBACK PIN_AddForkFunction(FPOINT point, FORK_CALLBACK callback, VOID*) {
  (point == FPOINT_AFTER_IN_CHILD ? machine->forked_child : machine->forked_parent) = callback;
  return nullptr;
}

// Image 0 is the test's "program" at 0x400000, image 1 the vdso, image 2 more of the program at Machine::code.
BOOL IMG_IsVDSO(IMG image) { return image.id == 1; }
const std::string& IMG_Name(IMG) {
  static const std::string name = "/somewhere/program";
  return name;
}
ADDRINT IMG_LoadOffset(IMG image) { return image.id == 2 ? machine->code : 0x400000; }
UINT32 IMG_NumRegions(IMG) { return 1; }
ADDRINT IMG_RegionLowAddress(IMG image, UINT32) { return IMG_LoadOffset(image); }
ADDRINT IMG_RegionHighAddress(IMG image, UINT32) { return IMG_LoadOffset(image) + (image.id == 2 ? 63 : 0xFFF); }

ADDRINT PIN_GetSyscallNumber(const CONTEXT* context, SYSCALL_STANDARD) { return context->call_number; }
ADDRINT PIN_GetSyscallArgument(const CONTEXT* context, SYSCALL_STANDARD, UINT32 n) {
  return context->call_arguments[n];
}
VOID PIN_SetSyscallArgument(CONTEXT* context, SYSCALL_STANDARD, UINT32 n, ADDRINT value) {
  context->call_arguments[n] = value;
}
ADDRINT PIN_GetSyscallReturn(const CONTEXT* context, SYSCALL_STANDARD) { return context->call_result; }
ADDRINT PIN_GetSyscallErrno(const CONTEXT* context, SYSCALL_STANDARD) { return context->call_errno; }

size_t PIN_SafeCopy(VOID* to, const VOID* from, size_t size) {
  return powercut::pin::copy_own_memory(to, reinterpret_cast<uint64_t>(from), size);
}
size_t PIN_FetchCode(void* to, const VOID* from, size_t size, EXCEPTION_INFO*) { return PIN_SafeCopy(to, from, size); }
int PIN_Backtrace(const CONTEXT* context, void** buffer, int size) {
  EXPECT_GT(machine->client_locks, 0) << "PIN_Backtrace needs the client lock";
  ++machine->backtraces;
  const int count = std::min(size, static_cast<int>(context->backtrace.size()));
  for (int i = 0; i < count; ++i) buffer[i] = reinterpret_cast<void*>(context->backtrace[static_cast<size_t>(i)]);
  return count;
}
VOID PIN_LockClient() { ++machine->client_locks; }
VOID PIN_UnlockClient() { --machine->client_locks; }
VOID PIN_Yield() {}
VOID PIN_InitSymbols() {}
BOOL PIN_Init(INT32, CHAR**) { return false; }
VOID PIN_StartProgram() { throw fake_pin::Started(); }

namespace {

// Names of knobs, by the address of the knob; filled before main().
std::map<const void*, std::string>& knob_names() {
  static std::map<const void*, std::string> names;
  return names;
}

const std::vector<std::string>& given(const void* knob) { return machine->options[knob_names()[knob]]; }

}  // namespace

template <>
KNOB<std::string>::KNOB(KNOB_MODE, const std::string&, const std::string& name, const std::string&,
                        const std::string&) {
  knob_names()[this] = name;
}
template <>
KNOB<BOOL>::KNOB(KNOB_MODE, const std::string&, const std::string& name, const std::string&, const std::string&) {
  knob_names()[this] = name;
}
template <>
const std::string& KNOB<std::string>::Value() const {
  static const std::string none;
  return given(this).empty() ? none : given(this).front();
}
template <>
const std::string& KNOB<std::string>::Value(UINT32 index) {
  return given(this).at(index);
}
template <>
UINT32 KNOB<std::string>::NumberOfValues() const {
  return static_cast<UINT32>(given(this).size());
}
template <>
const BOOL& KNOB<BOOL>::Value() const {
  static const BOOL yes = true, no = false;
  return given(this).empty() ? no : yes;
}

}  // namespace LEVEL_PINCLIENT
