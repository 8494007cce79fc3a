#include "checker/audit/audit_draw.h"

#include <algorithm>

#include "tracer/record/random.h"

namespace powercut {
namespace {

// In [0, bound), without bias: numbers of as many bits as bound - 1 has, until one is small enough (twice on average).
BigInt uniform(const BigInt& bound, Random* random) {
  const BigInt largest = bound - 1;
  const unsigned bits = largest == 0 ? 0 : static_cast<unsigned>(msb(largest)) + 1;
  for (;;) {
    BigInt number = 0;
    for (unsigned taken = 0; taken < bits; taken += 64) {
      const unsigned take = std::min(64u, bits - taken);
      number = (number << take) | BigInt(random->next() >> (64 - take));
    }
    if (number < bound) return number;
  }
}

}  // namespace

std::vector<Draw> draw_states(const BigInt& total, uint64_t images, uint64_t seed) {
  Random random(seed);
  std::vector<BigInt> numbers;
  numbers.reserve(images);
  for (uint64_t i = 0; i < images; ++i) numbers.push_back(uniform(total, &random));
  std::sort(numbers.begin(), numbers.end());
  std::vector<Draw> out;
  for (BigInt& number : numbers) {
    if (out.empty() || out.back().state != number) out.push_back({std::move(number), 0});
    ++out.back().times;
  }
  return out;
}

std::vector<uint32_t> contents_of(BigInt number, const LineSets& sets) {
  std::vector<uint32_t> out;
  out.reserve(sets.size());
  for (const LineSet* set : sets) {
    BigInt rest;
    BigInt digit;
    divide_qr(number, BigInt(set->contents.size()), rest, digit);
    out.push_back(digit.convert_to<uint32_t>());
    number = std::move(rest);
  }
  return out;
}

}  // namespace powercut
