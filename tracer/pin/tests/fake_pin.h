// A Pin that a test plays. It keeps the calls that the glue inserts. It makes these calls around the effect that the
// test gives an instruction, with the values that Pin documents for the calls' arguments.
#ifndef POWERCUT_TRACER_PIN_TESTS_FAKE_PIN_H_
#define POWERCUT_TRACER_PIN_TESTS_FAKE_PIN_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pin.H"

// The C library's <signal.h> has enumerators that are named like Pin's registers: write `using enum REG` where
// registers are named.
struct LEVEL_PINCLIENT::CONTEXT {
  std::map<REG, ADDRINT> registers;
  std::vector<ADDRINT> backtrace;  // the instruction pointer first
  ADDRINT call_number = 0, call_arguments[6] = {}, call_result = 0, call_errno = 0;
};

namespace fake_pin {

struct MemoryOperand {
  bool read = false, written = false;
  ADDRINT address = 0;
  UINT32 size = 0;
};

struct Element {
  ADDRINT address;
  UINT32 size;
  bool set;
};

class Elements : public IMULTI_ELEMENT_OPERAND {
 public:
  ADDRINT base = 0;
  std::vector<Element> all;
  BOOL IsMemory() const override { return true; }
  BOOL IsRegister() const override { return false; }
  USIZE Size() const override { return 0; }
  ADDRINT Address() const override { return base; }
  UINT32 NumOfElements() const override { return static_cast<UINT32>(all.size()); }
  USIZE ElementSize(UINT32 i) const override { return all[i].size; }
  ADDRINT ElementAddress(UINT32 i) const override { return all[i].address; }
  UINT32 ElementOffset(UINT32) const override { return 0; }
  UINT32 ElementMaskValue(UINT32 i) const override { return all[i].set ? 1 : 0; }
  PIN_OP_ELEMENT_ACCESS ElementAccessType(UINT32) const override { return PIN_OP_ELEMENT_ACCESS_WRITE; }
};

struct Argument {
  IARG_TYPE type;
  ADDRINT value;
};

struct Call {
  enum Kind { kPlain, kIf, kThen } kind;
  bool predicated;
  IPOINT point;
  AFUNPTR function;
  std::vector<Argument> arguments;
};

struct Instruction {
  std::vector<UINT8> bytes;
  std::vector<MemoryOperand> operands;
  size_t starts = 0;  // index of the instruction's first byte in `bytes`: code before the instruction may stand there
  bool has_after = true, has_taken = false, scattered = false, tells_elements = true;
  Elements elements;
  UINT8 vector_register[16] = {};
  REG referenced = REG_INVALID_;  // the register that IARG_REG_CONST_REFERENCE asked for

  bool deleted = false;
  std::vector<Call> calls;
};

// One process is one run of the tool.
struct Machine {
  std::map<std::string, std::vector<std::string>> options;
  INS_INSTRUMENT_CALLBACK instrument = nullptr;
  IMAGECALLBACK image_loaded = nullptr, image_unloaded = nullptr;
  FINI_CALLBACK finish = nullptr;
  THREAD_START_CALLBACK thread_starts = nullptr;
  THREAD_FINI_CALLBACK thread_ends = nullptr;
  SYSCALL_ENTRY_CALLBACK call_begins = nullptr;
  SYSCALL_EXIT_CALLBACK call_ends = nullptr;
  FORK_CALLBACK forked_parent = nullptr, forked_child = nullptr;
  CONTEXT_CHANGE_CALLBACK context_changes = nullptr;
  bool started = false;
  int client_locks = 0, backtraces = 0;

  ADDRINT code = 0;  // where image 2 lies
  THREADID thread = 0;
  CONTEXT context;
  std::vector<Instruction*> instructions;  // by INS::id

  // Runs the tool's main() up to PIN_StartProgram(). Returns -1 if main() got there, and the result of main()
  // otherwise.
  int start();
  // Lets the tool instrument the instruction.
  void translate(Instruction* instruction);
  // Executes the instruction once; `effect` is the processor's part. `predicate` is false for an instruction that does
  // nothing: a repeated one with a count of 0, or a conditional move.
  void execute(Instruction* instruction, const std::function<void()>& effect, bool predicate = true,
               IPOINT leaves_by = IPOINT_AFTER);

 private:
  void make_calls(Instruction* instruction, IPOINT point, bool predicate);
  ADDRINT make(Instruction* instruction, const Call& call);
};

extern Machine* machine;

}  // namespace fake_pin
#endif  // POWERCUT_TRACER_PIN_TESTS_FAKE_PIN_H_
