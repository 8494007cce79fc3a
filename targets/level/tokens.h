// The tokens of a bucket (3.3, Fig. 5): one bit a slot, all of them in a header of one or two bytes. Where the header
// has four bytes, each token is a byte, as in the port of clevel's authors.
#ifndef POWERCUT_TARGETS_LEVEL_TOKENS_H_
#define POWERCUT_TARGETS_LEVEL_TOKENS_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::level {

struct Tokens {
  uint32_t full() const { return (1u << slots) - 1; }

  uint32_t LoadTokens(const uint8_t* bucket) const {
    const uint8_t* at = bucket + header_at;
    if (header_size == 4) return Gather(pmem::atomic_load(reinterpret_cast<const uint32_t*>(at)));
    return header_size == 1 ? pmem::atomic_load(at) : pmem::atomic_load(reinterpret_cast<const uint16_t*>(at));
  }
  void StoreTokens(uint8_t* bucket, uint32_t tokens) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      pmem::atomic_store(at, static_cast<uint8_t>(tokens));
    } else if (header_size == 2) {
      pmem::atomic_store(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(tokens));
    } else {
      pmem::atomic_store(reinterpret_cast<uint32_t*>(at), Scatter(tokens));
    }
  }

  // Sets tokens beside other threads, which change other tokens of the bucket: one atomic read-modify-write.
  void AddTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_or(at, Narrow(at, tokens), __ATOMIC_ACQ_REL); });
  }
  void RemoveTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_and(at, Narrow(at, ~tokens), __ATOMIC_ACQ_REL); });
  }
  void FlipTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_xor(at, Narrow(at, tokens), __ATOMIC_ACQ_REL); });
  }

  uint32_t slots;        // of a bucket
  uint32_t header_size;  // bytes
  uint32_t header_at;    // offset of the header in its bucket

 private:
  // Four tokens: from a byte each to a bit each, and back.
  static uint32_t Gather(uint32_t bytes) { return (bytes * 0x01020408 >> 24) & 15; }
  static uint32_t Scatter(uint32_t bits) { return (bits & 15) * 0x00204081 & 0x01010101; }

  // The operand of a read-modify-write. A bit that is set in `tokens` beyond the slots is one of a complement.
  template <typename Header>
  static Header Narrow(const Header*, uint32_t tokens) {
    if constexpr (sizeof(Header) == 4) return Scatter(tokens) | (tokens > 15 ? ~uint32_t{0x01010101} : 0);
    return static_cast<Header>(tokens);
  }
  template <typename Change>
  void ChangeTokens(uint8_t* bucket, Change change) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      change(at);
    } else if (header_size == 2) {
      change(reinterpret_cast<uint16_t*>(at));
    } else {
      change(reinterpret_cast<uint32_t*>(at));
    }
  }
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_TOKENS_H_
