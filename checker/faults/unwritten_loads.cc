#include "checker/faults/unwritten_loads.h"

#include <algorithm>
#include <cstring>

#include "tracer/world/quiet_heap.h"

namespace powercut {
namespace {

// Calls visit(line, mask) for the parts of an access in each line of the pool.
template <typename Visit>
void for_each_line_of(MemoryRange pool, uint64_t address, uint64_t size, const Visit& visit) {
  if (address >= pool.end || address < pool.begin) return;
  for_each_line(address - pool.begin, std::min(address + size, pool.end) - pool.begin, visit);
}

}  // namespace

UnwrittenLoads::UnwrittenLoads(MemoryRange pool) : pool_(pool), stored_((pool.end - pool.begin) / kLineSize, 0) {}

void UnwrittenLoads::on_load(uint64_t address, uint64_t size, CodePlace place) {
  for_each_line_of(pool_, address, size, [&](uint64_t line, uint64_t mask) {
    const uint64_t unwritten = mask & ~stored_[line];
    if (unwritten == 0) return;
    QuietHeap quiet;
    First& first = lines_[line];
    if (first.mask == 0) first.stack = place.stack();
    first.mask |= unwritten;
  });
}

void UnwrittenLoads::store(uint64_t address, uint64_t size) {
  for_each_line_of(pool_, address, size, [&](uint64_t line, uint64_t mask) {
    if (undoing_ && (mask & ~stored_[line]) != 0) {
      QuietHeap quiet;
      old_.emplace_back(line, stored_[line]);
    }
    stored_[line] |= mask;
  });
}

void UnwrittenLoads::end_undone() {
  for (; !old_.empty(); old_.pop_back()) stored_[old_.back().first] = old_.back().second;
  undoing_ = false;
}

void UnwrittenLoads::reset() {
  std::fill(stored_.begin(), stored_.end(), 0);
  old_.clear();
  lines_.clear();
}

void fill_noise(std::span<uint8_t> bytes, uint64_t seed) {
  if (seed == 0) {
    std::memset(bytes.data(), 0xff, bytes.size());
    return;
  }
  // xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
  uint64_t state = seed * 0x9E3779B97F4A7C15;
  for (size_t i = 0; i < bytes.size(); ++i) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    bytes[i] = static_cast<uint8_t>(state * 0x2545F4914F6CDD1D >> 56);
  }
}

}  // namespace powercut
