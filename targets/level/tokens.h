// The tokens of a bucket (3.3, Fig. 5): one bit a slot, all of them in a header of one or two bytes.
#ifndef POWERCUT_TARGETS_LEVEL_TOKENS_H_
#define POWERCUT_TARGETS_LEVEL_TOKENS_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::level {

struct Tokens {
  uint32_t full() const { return (1u << slots) - 1; }

  uint32_t LoadTokens(const uint8_t* bucket) const {
    const uint8_t* at = bucket + header_at;
    return header_size == 1 ? pmem::atomic_load(at) : pmem::atomic_load(reinterpret_cast<const uint16_t*>(at));
  }
  void StoreTokens(uint8_t* bucket, uint32_t tokens) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      pmem::atomic_store(at, static_cast<uint8_t>(tokens));
    } else {
      pmem::atomic_store(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(tokens));
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
  template <typename Header>
  static Header Narrow(const Header*, uint32_t tokens) {
    return static_cast<Header>(tokens);
  }
  template <typename Change>
  void ChangeTokens(uint8_t* bucket, Change change) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      change(at);
    } else {
      change(reinterpret_cast<uint16_t*>(at));
    }
  }
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_TOKENS_H_
