// What one instruction does to memory, decoded from its bytes and the registers at hand.
#ifndef POWERCUT_TRACER_WORLD_TRAPPED_ACCESS_H_
#define POWERCUT_TRACER_WORLD_TRAPPED_ACCESS_H_

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
  uint8_t count = 0;
  std::array<Range, 4> ranges{};
};

// The instruction at the context's program counter. kOther: it accesses no memory and orders nothing; kUnknown: it is
// not modelled.
TrappedAccess decode_access(const ucontext_t& context);

// Its text, for people.
std::string instruction_text(uint64_t pc);

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_TRAPPED_ACCESS_H_
