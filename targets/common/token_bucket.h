// A bucket of slots whose tokens, one bit a slot, say which slots hold an item (Level hashing, OSDI'18, 3.3 Fig. 5):
// the unit that the log-free protocols work on, for any number of slots. Items are of two sizes:
//   16x15  16-byte keys, values of 1 to 15 bytes; two slots of 31 bytes in a 64-byte line (4.1). One slot: the token is
//          byte 31 of 32. More: the tokens are the last byte (16 slots: the last two) of the bucket's first line, and
//          not its first as in Fig. 5, so that keys start on 8-byte boundaries (16 slots: every other key).
//   8x8    8 bytes of tokens, then slots of 16 bytes, packed: a slot may straddle two lines, and never an 8-byte word
#ifndef POWERCUT_TARGETS_COMMON_TOKEN_BUCKET_H_
#define POWERCUT_TARGETS_COMMON_TOKEN_BUCKET_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"

namespace powercut {

// A key and its value as they stand in a slot; values shorter than 15 bytes are padded with zeros.
struct TokenItem {
  alignas(8) uint8_t bytes[32] = {};
};

class TokenBucket {
 public:
  static bool Serves(uint32_t key_size, uint32_t value_size) {
    return (key_size == 8 && value_size == 8) || (key_size == 16 && value_size >= 1 && value_size <= 15);
  }

  // Precondition: Serves(key_size, value_size); slots is 1, 4, 8 or 16.
  TokenBucket(uint32_t key_size, uint32_t value_size, uint32_t slots)
      : wide_(key_size == 16),
        slots_(slots),
        key_size_(key_size),
        value_size_(value_size),
        header_size_(slots > 8 ? 2 : 1),
        header_at_(!wide_       ? 0
                   : slots == 1 ? 31
                                : static_cast<uint32_t>(pmem::kLine) - header_size_),
        pitch_(!wide_              ? 16
               : header_size_ == 2 ? 31
                                   : 32),
        stride_(!wide_ ? 8 + 16 * slots : 32 * slots) {}

  uint32_t slots() const { return slots_; }
  uint32_t stride() const { return stride_; }  // bytes of a bucket
  uint32_t key_size() const { return key_size_; }
  uint32_t value_size() const { return value_size_; }
  uint32_t header_size() const { return header_size_; }
  const uint8_t* TokensAt(const uint8_t* bucket) const { return bucket + header_at_; }
  uint32_t item_size() const { return wide_ ? 31 : 16; }
  uint32_t full() const { return (1u << slots_) - 1; }

  uint8_t* Slot(uint8_t* bucket, uint32_t slot) const {
    return wide_ ? bucket + (slot >> 1) * pmem::kLine + (slot & 1) * pitch_ : bucket + 8 + 16 * slot;
  }

  uint32_t LoadTokens(const uint8_t* bucket) const {
    const uint8_t* at = bucket + header_at_;
    return header_size_ == 1 ? pmem::atomic_load(at) : pmem::atomic_load(reinterpret_cast<const uint16_t*>(at));
  }
  void StoreTokens(uint8_t* bucket, uint32_t tokens) const {
    uint8_t* at = bucket + header_at_;
    if (header_size_ == 1) {
      pmem::atomic_store(at, static_cast<uint8_t>(tokens));
    } else {
      pmem::atomic_store(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(tokens));
    }
  }
  void PersistTokens(const uint8_t* bucket) const { pmem::persist(bucket + header_at_, header_size_); }

  TokenItem MakeItem(const uint8_t* key, const uint8_t* value) const {
    TokenItem item;
    std::memcpy(item.bytes, key, key_size_);
    if (value != nullptr) std::memcpy(item.bytes + key_size_, value, value_size_);
    return item;
  }
  // Constant sizes, so that each copy is one memory intrinsic.
  void Copy(uint8_t* to, const uint8_t* from) const {
    if (wide_) {
      std::memcpy(to, from, 31);
    } else {
      std::memcpy(to, from, 16);
    }
  }
  void CopyValue(uint8_t* slot, const uint8_t* item) const {
    if (wide_) {
      std::memcpy(slot + 16, item + 16, 15);
    } else {
      std::memcpy(slot + 8, item + 8, 8);
    }
  }
  // The second word is read only where the first one agrees: keys that differ cost one load.
  bool KeyEquals(const uint8_t* slot, const uint8_t* key) const {
    return Word(slot) == Word(key) && (!wide_ || Word(slot + 8) == Word(key + 8));
  }

 private:
  static uint64_t Word(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  bool wide_;
  uint32_t slots_, key_size_, value_size_;
  uint32_t header_size_, header_at_;
  uint32_t pitch_;  // 16x15: distance of the two slots of a line
  uint32_t stride_;
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_TOKEN_BUCKET_H_
