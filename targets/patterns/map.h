// A map in a persistent array: as small as a target can be, so that each pattern and each bug is a few lines.
//
// An entry has a state word and two places for its value. The state word says which place counts; an update
// writes the other one and switches. Everything else (options.h) is a variation of that.
#ifndef POWERCUT_TARGETS_PATTERNS_MAP_H_
#define POWERCUT_TARGETS_PATTERNS_MAP_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "powercut/target.h"
#include "targets/common/pool_allocator.h"
#include "targets/patterns/options.h"

namespace powercut {
class Drawing;
}

namespace powercut::patterns {

// On a line of its own, so that nothing is ordered by accident.
struct alignas(64) Word {
  uint64_t value;
};

struct Root {
  Word magic;
  Word count;       // pattern rewritten_by_recovery
  Word lock;        // pattern volatile_lock
  Word intent;      // pattern intent
  Word log_entry;   // pattern undo_log: index + 1 of the entry under update
  Word statistics;  // bug never_persisted
  alignas(64) uint8_t log_value[64];
};

inline constexpr uint64_t kEmpty = 0;
inline constexpr uint64_t kDirty = uint64_t{1} << 63;  // pattern helping_persist: not known to be durable

struct Entry {
  alignas(64) uint64_t state;  // kEmpty, or 1 + index of the value that counts
  uint64_t block;              // pattern blocks: pool offset
  uint8_t key[48];
  alignas(64) uint8_t value[2][64];
};
static_assert(sizeof(Entry) == 192);

class Map {
 public:
  static powercut_status Format(powercut_pool pool, const Options& options);
  static powercut_status Open(powercut_pool pool, const Options& options, Map** out);

  powercut_status Insert(const uint8_t* key, const uint8_t* value);
  powercut_status Update(const uint8_t* key, const uint8_t* value);
  powercut_status Erase(const uint8_t* key);
  const uint8_t* Lookup(const uint8_t* key);

  // 1 + entries: region 0 is the root.
  uint64_t regions() const { return 1 + uint64_t{options_.capacity}; }
  Entry* entry(uint64_t index) const { return reinterpret_cast<Entry*>(pool_.base + sizeof(Root)) + index; }
  // The value that counts, or null for an empty entry.
  const uint8_t* Value(const Entry& entry) const {
    const uint64_t state = StateOf(entry.state);
    return state == kEmpty ? nullptr : entry.value[(state - 1) & 1];
  }
  bool Matches(const Entry& entry, const uint8_t* key) const {
    return StateOf(entry.state) != kEmpty && std::memcmp(entry.key, key, options_.key_size) == 0;
  }
  powercut_status Verify(uint64_t region, char* message, size_t size) const;
  void Draw(Drawing* to) const;  // draw.cc
  bool Owns(uint64_t offset) const;
  // For the pattern `checked`: returns whether every entry still has its written contents.
  bool Intact() const;
  PoolAllocator& allocator() { return allocator_; }
  const Options& options() const { return options_; }

 private:
  Map(powercut_pool pool, const Options& options)
      : pool_(pool),
        options_(options),
        allocator_(pool, {.begin = NotesBegin(options) + uint64_t{options.unflushed} * sizeof(Word), .unit = 64}) {}

  // Returns a state word without the bits that a pattern adds.
  uint64_t StateOf(uint64_t word) const { return Follows(Pattern::kChecked) ? word & 0xff : word & ~kDirty; }
  uint64_t Checksum(const Entry& entry, uint64_t state) const;
  static uint64_t NotesBegin(const Options& options) {
    return sizeof(Root) + uint64_t{options.capacity} * sizeof(Entry);
  }
  Word* note(uint64_t index) const { return reinterpret_cast<Word*>(pool_.base + NotesBegin(options_)) + index; }
  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  bool Follows(Pattern pattern) const { return options_.pattern == pattern; }
  bool Has(Bug bug) const { return options_.bug == bug; }

  // The operations without the steps that the patterns put around them.
  powercut_status InsertEntry(const uint8_t* key, const uint8_t* value);
  powercut_status UpdateEntry(const uint8_t* key, const uint8_t* value);
  powercut_status EraseEntry(const uint8_t* key);

  Entry* Find(const uint8_t* key) const;
  Entry* FindFrom(uint64_t index, const uint8_t* key) const;
  void SetState(Entry* entry, uint64_t state, bool durable) const;
  void Help(Entry* entry) const;
  void UpdateInPlace(Entry* entry, const uint8_t* value) const;
  void FillHole(Entry* hole) const;
  void Count(int64_t change) const;

  // Around every operation that writes.
  void Begin();
  void End() const;

  // Recovery, one step a pattern.
  void Recover();
  void ReplayLog() const;
  void WithdrawIntent() const;

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  uint32_t next_note_ = 0;  // option unflushed
};

}  // namespace powercut::patterns
#endif  // POWERCUT_TARGETS_PATTERNS_MAP_H_
