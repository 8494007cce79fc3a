// The part of a scheme's table that all schemes have alike: the functions that SchemeTarget (scheme_target.h) calls,
// and the options that every run has.
#ifndef POWERCUT_TARGETS_COMMON_SCHEME_TABLE_H_
#define POWERCUT_TARGETS_COMMON_SCHEME_TABLE_H_

#include <cstdint>

#include "powercut/target.h"
#include "targets/common/bytes.h"

namespace powercut {

class Drawing;

// The sizes of keys and values that a scheme takes.
struct ItemSizes {
  uint32_t most_key, most_value;
  bool words = false;  // exactly 8 bytes each
};
inline constexpr ItemSizes kWords = {.most_key = 8, .most_value = 8, .words = true};

struct SchemeOptions {
  bool hardened = false;
  // In bytes; with mixed sizes, of the longest key and of the longest value.
  uint32_t key_size = 8;
  uint32_t value_size = 8;
  // The sizes of the shortest key and of the shortest value.
  uint32_t least_key_size = 8;
  uint32_t least_value_size = 8;

  bool are_mixed() const { return least_key_size != key_size || least_value_size != value_size; }
  // Whether the table was opened for items of these sizes.
  bool TakesKey(uint64_t size) const { return size >= least_key_size && size <= key_size; }
  bool Takes(uint64_t key, uint64_t value) const {
    return TakesKey(key) && value >= least_value_size && value <= value_size;
  }
  // Whether an allocated block of so many bytes is large enough for the item that its header describes; 0: no block.
  bool IsItem(const ItemHeader* header, uint64_t block_bytes) const {
    return block_bytes >= sizeof *header && Takes(header->key_size, header->value_size) &&
           header->bytes() <= block_bytes;
  }
};

}  // namespace powercut

// Declares the functions in a class `Table` with a member `options_`. target.cc defines the first two, recover.cc the
// next two, and verify.cc Verify(); a comment beside the line says where the operations are.
#define POWERCUT_SCHEME_TABLE(OptionsOfTable) \
  POWERCUT_SCHEME_TABLE_OF(OptionsOfTable, const uint8_t*, const uint8_t*, uint8_t*)
// Declares them for a table of mixed sizes (ABI.md, "Sizes"), which also has a constant kSizes, an ItemSizes.
#define POWERCUT_MIXED_SCHEME_TABLE(OptionsOfTable) POWERCUT_SCHEME_TABLE_OF(OptionsOfTable, Bytes, Bytes, ValueRoom*)

#define POWERCUT_SCHEME_TABLE_OF(OptionsOfTable, Key, Value, Found)                     \
  using Options = OptionsOfTable;                                                       \
  static powercut_status ParseOptions(const powercut_config& config, Options* out);     \
  static void Traits(const Options& options, powercut_traits* out);                     \
  static powercut_status Format(powercut_pool pool, const Options& options);            \
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out); \
  const Options& options() const { return options_; }                                   \
  powercut_status Insert(Key key, Value value);                                         \
  powercut_status Update(Key key, Value value);                                         \
  powercut_status Erase(Key key);                                                       \
  powercut_status Lookup(Key key, Found value);                                         \
  powercut_status Verify(uint64_t region, char* message, size_t size)

#endif  // POWERCUT_TARGETS_COMMON_SCHEME_TABLE_H_
