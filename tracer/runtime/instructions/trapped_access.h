// Room instructions: what one instruction does to memory, decoded from its bytes and the registers at hand.
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
  uint32_t code = 0;           // flushes and fences: their kind (hooks.h); stores: their flags
  uint8_t length = 0;          // of the instruction
  bool may_not_store = false;  // cmpxchg: the zero flag tells
  bool masked = false;         // stores some of the bytes of its range
  bool leaves = false;         // a call, return or jump
  uint64_t element = 0;        // repeated ones: bytes of one turn
  // Of a plain access by a general register or a constant, what it comes to: `to` = `to` <operation> `from`. One of the
  // two is the one range. kNone: another instruction.
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

// The instruction at the context's program counter. kOther: it accesses no memory and orders nothing; kUnknown: it is
// not modelled.
TrappedAccess decode_access(const ucontext_t& context);

// Its text, for people.
std::string instruction_text(uint64_t pc);

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_INSTRUCTIONS_TRAPPED_ACCESS_H_
