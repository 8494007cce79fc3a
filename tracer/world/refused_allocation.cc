#include "tracer/world/refused_allocation.h"

#include <algorithm>
#include <cstring>

#include "tracer/runtime/hooks.h"
#include "tracer/world/arena.h"

namespace powercut {

constinit AllocationFault allocation_fault;

bool allocation_fails(uint64_t size, bool of_pool, const void* pc, const void* frame) {
  AllocationFault& fault = allocation_fault;
  if (++fault.count != fault.fail_at) return false;
  fault.failed = true;
  fault.of_pool = of_pool;
  fault.size = size;
  fault.pc = pc;
  std::memcpy(fault.above.data(), frame, sizeof fault.above);
  return true;
}

std::vector<uint64_t> AllocationFault::stack(const std::vector<MemoryRange>& code) const {
  const auto in_code = [&](uint64_t address) {
    return std::any_of(code.begin(), code.end(), [&](const MemoryRange& range) { return range.holds(address, 1); });
  };
  std::vector<uint64_t> out;
  const auto own = reinterpret_cast<uint64_t>(pc);
  if (in_code(own)) {
    out.push_back(own);
  } else if (const auto at = std::find_if(above.begin(), above.end(), in_code); at != above.end()) {
    out.push_back(*at);
  }
  return out;
}

}  // namespace powercut

extern "C" int powercut_refuse_allocation(uint64_t bytes) {
  if (!powercut::arena_active) return 0;  // not target code that the engine runs
  return powercut::allocation_fails(bytes, true, __builtin_return_address(0), __builtin_frame_address(0)) ? 1 : 0;
}
