// The contents of a bucket's entries, by the option `items` (README.md, "Items"): key and value of a word each, key and
// value of up to 15 bytes each, or a pointer to an item of any size. The order of stores and flushes is in the files of
// the operations.
#ifndef POWERCUT_TARGETS_PCLHT_ENTRIES_H_
#define POWERCUT_TARGETS_PCLHT_ENTRIES_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "targets/common/bytes.h"
#include "targets/common/hash.h"
#include "targets/pclht/layout.h"
#include "targets/pclht/options.h"

namespace powercut::pclht {

using Words = std::array<uint64_t, 2>;

// An item as an entry holds it.
struct Item {
  Bytes bytes;        // the key that the caller gave; none for an item that was read from an entry
  uint64_t hash = 0;  // its low bits choose the bucket; with words the key itself
  Words key{};        // with pointers the pool offset of the block, 0 until there is one; inline without the flag
  Words value{};      // not with pointers
};

struct Entry {
  Bucket* bucket = nullptr;
  uint32_t index = 0;
  uint64_t* commit = nullptr;

  bool found() const { return bucket != nullptr; }
  // The commit word: the key or the pointer; inline the key's second word.
  uint64_t* key() const { return commit; }
  uint64_t* value() const { return &bucket->value[index]; }  // with words
};

class Entries {
 public:
  enum class Seen : uint8_t { kFree, kOther, kKey };
  struct View {
    Bytes key, value;
  };

  Entries(powercut_pool pool, const Options& options) : pool_(pool), options_(options) {}

  bool has_pointers() const { return options_.items == Items::kPointer; }
  bool is_wide() const { return options_.items == Items::kInline; }
  // A flag says whether the entry is used; without it a key other than 0 does.
  bool has_flags() const { return is_wide() && options_.hardened; }
  // The whole key says whether the entry is used, and is two stores.
  bool SplitsKeys() const { return is_wide() && !options_.hardened; }
  uint64_t bucket_bytes() const { return is_wide() ? sizeof(WideBucket) : sizeof(Bucket); }

  Item ItemOf(Bytes key, Bytes value = {}) const {
    Item item;
    item.bytes = key;
    if (options_.items == Items::kWords) {
      std::memcpy(&item.key, key.data, sizeof(uint64_t));
      if (value.data != nullptr) std::memcpy(&item.value, value.data, sizeof(uint64_t));
      item.hash = item.key[0];
      return item;
    }
    item.hash = HashKey(key.data, key.size);
    if (is_wide()) {
      key.CopyTo(&item.key);
      if (value.data != nullptr) value.CopyTo(&item.value);
    }
    return item;
  }
  // Whether no entry can hold this key.
  bool IsZero(const Item& item) const { return !has_pointers() && !has_flags() && item.key == Words{}; }

  Entry At(Bucket* bucket, uint32_t i) const {
    return {bucket, i, is_wide() ? &Wide(bucket)->key[i][1] : &bucket->key[i]};
  }

  bool IsUsed(const Bucket* bucket, uint32_t i) const {
    if (!is_wide()) return pmem::atomic_load(&bucket->key[i]) != 0;
    const uint64_t last = pmem::atomic_load(&Wide(bucket)->key[i][1]);
    if (has_flags()) return last >> kFlagShift != 0;
    return last != 0 || pmem::atomic_load(&Wide(bucket)->key[i][0]) != 0;
  }

  Seen Look(const Bucket* bucket, uint32_t i, const Item& item) const {
    if (is_wide()) return LookWide(*Wide(bucket), i, item);
    const uint64_t word = pmem::atomic_load(&bucket->key[i]);
    if (word == 0) return Seen::kFree;
    const bool same = has_pointers() ? BlockAt(word).key == item.bytes : word == item.key[0];
    return same ? Seen::kKey : Seen::kOther;
  }

  // Reads the words of the entry's value; with pointers the offset of its item. False: the entry was emptied meanwhile.
  bool ReadValue(const Bucket* bucket, uint32_t i, Words* value) const {
    if (is_wide()) {
      const uint32_t room = RoomOf(*Wide(bucket), i);
      if (room >= kRooms) return false;
      *value = {pmem::atomic_load(&Wide(bucket)->room[room][0]), pmem::atomic_load(&Wide(bucket)->room[room][1])};
      return true;
    }
    *value = {pmem::atomic_load(has_pointers() ? &bucket->key[i] : &bucket->value[i]), 0};
    return !has_pointers() || (*value)[0] != 0;
  }
  // False: the item's block was freed meanwhile, and holds no item that the table takes.
  bool PutValue(const Words& value, ValueRoom* to) const {
    const Bytes bytes = has_pointers() ? BlockAt(value[0]).value
                                       : Bytes{reinterpret_cast<const uint8_t*>(value.data()), options_.value_size};
    if (bytes.data == nullptr) return false;
    to->Put(bytes);
    return true;
  }

  // Precondition: nobody changes the entry meanwhile.
  View ViewAt(const Bucket* bucket, uint32_t i) const {
    if (has_pointers()) return BlockAt(bucket->key[i]);
    const uint64_t* key = &bucket->key[i];
    const uint64_t* value = &bucket->value[i];
    if (is_wide()) {
      const uint32_t room = RoomOf(*Wide(bucket), i);
      key = Wide(bucket)->key[i];
      value = Wide(bucket)->room[room < kRooms ? room : 0];
    }
    return {{reinterpret_cast<const uint8_t*>(key), options_.key_size},
            {reinterpret_cast<const uint8_t*>(value), options_.value_size}};
  }
  uint64_t HashAt(const Bucket* bucket, uint32_t i) const {
    if (options_.items == Items::kWords) return bucket->key[i];
    const Bytes key = ViewAt(bucket, i).key;
    return HashKey(key.data, key.size);
  }
  Item ItemAt(const Bucket* bucket, uint32_t i) const {
    Item item;
    item.hash = HashAt(bucket, i);
    if (is_wide()) {
      item.key = {Wide(bucket)->key[i][0], Wide(bucket)->key[i][1] & kKeyMask};
      ReadValue(bucket, i, &item.value);
    } else {
      item.key[0] = bucket->key[i];
      item.value[0] = bucket->value[i];
    }
    return item;
  }

  // Writes the item into a bucket that nobody sees yet.
  void Fill(Bucket* bucket, uint32_t i, const Item& item) const {
    if (is_wide()) {
      std::memcpy(Wide(bucket)->room[i], &item.value, sizeof item.value);
      Wide(bucket)->key[i][0] = item.key[0];
      Wide(bucket)->key[i][1] = CommitWord(item, i);
      return;
    }
    bucket->value[i] = item.value[0];
    bucket->key[i] = item.key[0];
  }
  // The commit word that makes an entry hold the item; inline with the value in this room.
  uint64_t CommitWord(const Item& item, uint32_t room) const {
    if (!is_wide()) return item.key[0];
    return has_flags() ? item.key[1] | uint64_t{room + 1} << kFlagShift : item.key[1];
  }

  // Inline: the number of the room of the entry's value; kRooms or more where the flag names none.
  uint32_t RoomOf(const WideBucket& bucket, uint32_t i) const {
    if (!has_flags()) return i;
    return static_cast<uint32_t>(pmem::atomic_load(&bucket.key[i][1]) >> kFlagShift) - 1;
  }
  // Inline: a room that no entry of the bucket names; without flags the entry's own.
  uint32_t FreeRoom(const WideBucket& bucket, uint32_t i) const {
    if (!has_flags()) return i;
    uint32_t taken = 0;
    for (uint32_t other = 0; other < kEntries; ++other) {
      const uint32_t room = RoomOf(bucket, other);
      if (room < kRooms) taken |= 1u << room;
    }
    uint32_t room = 0;
    while ((taken >> room & 1) != 0) ++room;
    return room;
  }

  // The item at a pool offset. The view is empty if the bytes are no item that the table takes: a search may meet a
  // block that was freed and used again.
  View BlockAt(uint64_t offset) const {
    if (offset > pool_.size - sizeof(ItemHeader)) return {};
    const auto* header = reinterpret_cast<const ItemHeader*>(pool_.base + offset);
    const ItemHeader sizes = {pmem::atomic_load(&header->key_size), pmem::atomic_load(&header->value_size)};
    if (!options_.Takes(sizes.key_size, sizes.value_size) || sizes.bytes() > pool_.size - offset) return {};
    return {{header->data(), sizes.key_size}, {header->data() + sizes.key_size, sizes.value_size}};
  }

  static WideBucket* Wide(Bucket* bucket) { return reinterpret_cast<WideBucket*>(bucket); }
  static const WideBucket* Wide(const Bucket* bucket) { return reinterpret_cast<const WideBucket*>(bucket); }

 private:
  Seen LookWide(const WideBucket& bucket, uint32_t i, const Item& item) const {
    const Words seen = {pmem::atomic_load(&bucket.key[i][0]), pmem::atomic_load(&bucket.key[i][1])};
    const bool is_used = has_flags() ? seen[1] >> kFlagShift != 0 : seen != Words{};
    if (!is_used) return Seen::kFree;
    return seen[0] == item.key[0] && (seen[1] & kKeyMask) == item.key[1] ? Seen::kKey : Seen::kOther;
  }

  powercut_pool pool_;
  Options options_;
};

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_ENTRIES_H_
