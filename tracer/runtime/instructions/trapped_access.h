// Room instructions: the memory accesses of one instruction, decoded from its bytes and the registers at hand.
#ifndef POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_TRAPPED_ACCESS_H_
#define POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_TRAPPED_ACCESS_H_

#include <ucontext.h>

#include <array>
#include <cstdint>
#include <string>

namespace powercut {

struct TrappedAccess {
  enum class Kind : uint8_t { kUnknown, kPlain, kLocked, kFlush, kFence, kRepeatedMove, kRepeatedFill, kOther };
  struct Range {
    uint64_t address = 0, size = 0;
    bool read = false, written = false;
  };
  Kind kind = Kind::kUnknown;
  uint32_t code = 0;           // kind of a flush or fence (hooks.h); flags of a store
  uint8_t length = 0;          // of the instruction
  bool may_not_store = false;  // cmpxchg: the zero flag tells whether it has stored
  bool masked = false;         // stores some of the bytes of its range
  bool leaves = false;         // a call, return or jump
  uint64_t element = 0;        // bytes of one turn of a repeated instruction
  // The meaning of a plain access by a general register or a constant: `to` = `to` <operation> `from`. The memory
  // operand is `to` or `from`, and the only range. kNone: the instruction is no such access.
  struct Simple {
    enum class Operation : uint8_t { kNone, kMove, kAdd, kSubtract, kAnd, kOr, kXor, kCompare, kTest };
    Operation operation = Operation::kNone;
    bool to_memory = false;
    bool sign = false;                // the source is widened with its sign
    uint8_t from_size = 0, size = 0;  // bytes
    int general = -1;                 // the register's number in a context; -1: `constant` is the source
    uint64_t constant = 0;
  };
  Simple simple;
  uint8_t count = 0;
  std::array<Range, 4> ranges{};
};

// Returns the accesses of the instruction at the context's program counter. kOther: the instruction accesses no memory
// and orders nothing; kUnknown: the instruction is not modelled.
TrappedAccess decode_access(const ucontext_t& context);

// Returns the instruction's text, for people.
std::string instruction_text(uint64_t pc);

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_TRAPPED_ACCESS_H_
