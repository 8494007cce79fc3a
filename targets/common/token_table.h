// The persistent half of a hash table of token buckets, by the protocols of Level hashing (OSDI'18, 3.3). The class
// offers a root that names the table by one word. Insertion and deletion of a slot are log-free; an update may use an
// undo log of one item. A scheme adds its way to find a bucket.
//
// Layout:
//   0      root: 3 lines (TokenRoot below)
//   192    PoolAllocator: its line, its table, its units; the table is one block of it
//
// A scheme resizes its table in one of two ways.
//   copy     The new table is made in an unreached block, made durable, and named by one store of 8 bytes; then the old
//            table is freed. A cut before the store leaves the old table and an unreached block; a cut after the store
//            leaves the new table and the old block. Open frees the unreached block in either case.
//   rehash   The new table is named while it is empty, and the word behind its cells names the old table, its *older*
//            one. The items move one by one (3.3(3)). Then the word is cleared, and the old table is freed. Open
//            finishes what a cut has left.
#ifndef POWERCUT_TARGETS_COMMON_TOKEN_TABLE_H_
#define POWERCUT_TARGETS_COMMON_TOKEN_TABLE_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "powercut/target.h"
#include "targets/common/options.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/token_bucket.h"

namespace powercut {

struct TokenRoot {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // what the scheme must be opened with; constant
  uint64_t table;     // offset of the table's block | log2 of its size; published by one 8-byte store
  uint64_t unused0[5];
  // Line 1. The undo log is valid while this is non-zero: pool offset of the slot under update.
  uint64_t log_slot;
  uint64_t unused1[7];
  // Line 2. The item that was in the slot.
  uint8_t log_item[64];
};
static_assert(sizeof(TokenRoot) == 3 * pmem::kLine);

// How an update changes a value in its place.
enum class InPlace : uint8_t {
  kLogged,  // the old item goes to the undo log first (3.3(4))
  kAtomic,  // one 8-byte store; values of 8 bytes only
  kCount
};

// Planted bugs of the steps below; all off but in a scenario of scenarios/known_bugs.
struct TokenDefects {
  bool flush_first_line = false;    // an item that straddles two lines: only the first is flushed
  bool log_unordered = false;       // the undo log is valid before it holds the old item
  bool log_cleared_early = false;   // the undo log is cleared before the new value is durable
  bool log_not_replayed = false;    // open ignores the undo log
  bool value_in_halves = false;     // kAtomic: two stores of 4 bytes
  bool header_not_flushed = false;  // format flushes the address of a local
  bool older_late = false;          // resize=rehash: the new table is named before it names its older one
};

// How a resize brings the items into the new table.
enum class Resize : uint8_t { kCopy, kRehash, kCount };

// The tables that an unfinished rehash is emptying, the latest first. A table that is too small for their items gets a
// larger one in front, so that there may be several.
template <typename Body>
struct OlderTables {
  static constexpr int kMost = 5;
  Body table[kMost];
  int count = 0;

  const Body* begin() const { return table; }
  const Body* end() const { return table + count; }
  bool full() const { return count == kMost; }
  void Push(const Body& body) {
    for (int i = count++; i > 0; --i) table[i] = table[i - 1];
    table[0] = body;
  }
};

class TokenTable {
 public:
  PoolAllocator& allocator() { return allocator_; }

 protected:
  // Whether a scheme of token buckets takes these sizes, with updates of one store or under a log.
  static powercut_status CheckSizes(const powercut_config& config, const char* scheme, InPlace update) {
    if (!TokenBucket::Serves(config.key_size, config.value_size)) {
      return BadConfig(config,
                       "%s takes keys and values of 8 bytes, or keys of 16 bytes and values of 1 to 15, not %u and %u",
                       scheme, config.key_size, config.value_size);
    }
    if (update == InPlace::kAtomic && config.key_size != 8) {
      return BadConfig(config, "option update=atomic wants keys and values of 8 bytes, not %u and %u", config.key_size,
                       config.value_size);
    }
    return POWERCUT_OK;
  }

  TokenTable(powercut_pool pool, TokenBucket bucket, TokenDefects defects, uint64_t unit, Resize resize)
      : pool_(pool),
        bucket_(bucket),
        defects_(defects),
        unit_(unit),
        older_size_(resize == Resize::kRehash ? sizeof(uint64_t) : 0),
        allocator_(pool, {.begin = sizeof(TokenRoot), .unit = unit}) {}

  TokenRoot* root() const { return reinterpret_cast<TokenRoot*>(pool_.base); }
  uint64_t OffsetOf(const void* at) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(at) - pool_.base);
  }

  // Writes the item, then sets the token of the slot (3.3(2)a). `token_first` is the bug that turns this order round.
  void Fill(uint8_t* bucket, uint32_t slot, const uint8_t* item, bool token_first) const {
    if (token_first) SetToken(bucket, slot);
    uint8_t* at = bucket_.Slot(bucket, slot);
    bucket_.Copy(at, item);
    PersistItem(at);
    if (!token_first) SetToken(bucket, slot);
  }

  // Clears the token of the slot (3.3(1)).
  void Clear(uint8_t* bucket, uint32_t slot) const {
    bucket_.StoreTokens(bucket, bucket_.LoadTokens(bucket) & ~(1u << slot));
    bucket_.PersistTokens(bucket);
  }

  // An item of 8x8 may straddle two lines; both must be written back.
  void PersistItem(const uint8_t* slot) const {
    pmem::persist(slot, defects_.flush_first_line ? 1 : bucket_.item_size());
  }

  // Replaces the value of the item in `slot`. The key stays, so only the value is written.
  void Overwrite(uint8_t* slot, const uint8_t* item, InPlace how) const {
    if (how == InPlace::kAtomic) {
      OverwriteAtomically(slot + bucket_.key_size(), item + bucket_.key_size());
    } else {
      OverwriteLogged(slot, item);
    }
  }

  // Puts back what an interrupted OverwriteLogged was changing; part of recovery.
  void ReplayLog() const {
    const uint64_t offset = root()->log_slot;
    if (offset == 0 || defects_.log_not_replayed) return;
    if (!allocator_.Contains(offset, bucket_.item_size())) return;
    pmem::mark("recover.log");
    uint8_t* slot = pool_.base + offset;
    bucket_.Copy(slot, root()->log_item);
    PersistItem(slot);
    SetLog(0);
  }

  void NameTable(uint64_t offset, uint32_t log2) const {
    pmem::atomic_store(&root()->table, offset | log2);
    pmem::persist(&root()->table, sizeof(uint64_t));
  }

  // Returns the size of the block for a table of so many bytes.
  uint64_t BlockBytes(uint64_t bytes) const { return bytes + older_size_; }

  // Calls attach(i, log2, base) for each named table, the first one first; attach returns the bytes of such a table.
  // CORRUPT: a word names no table of less than 2^logs.
  template <typename Attach>
  powercut_status AttachTables(uint32_t logs, int most, Attach attach) const {
    uint64_t word = root()->table;
    for (int i = 0; i == 0 || (i < most && word != 0); ++i) {
      const uint64_t offset = word & ~(unit_ - 1);
      const auto log2 = static_cast<uint32_t>(word & (unit_ - 1));
      if (log2 < 1 || log2 >= logs) return POWERCUT_CORRUPT;
      uint8_t* base = pool_.base + offset;
      const uint64_t bytes = attach(i, log2, base);
      if (!allocator_.Contains(offset, BlockBytes(bytes))) return POWERCUT_CORRUPT;
      word = older_size_ == 0 ? 0 : *OlderWord(base, bytes);
    }
    return word == 0 ? POWERCUT_OK : POWERCUT_CORRUPT;
  }

  // Names a new, empty table whose older one is the table named so far. Returns its base; null: no room.
  uint8_t* NameInFront(uint64_t bytes, uint32_t log2) {
    const uint64_t offset = allocator_.Allocate(BlockBytes(bytes));
    if (offset == 0) return nullptr;
    uint8_t* base = pool_.base + offset;
    uint64_t* word = OlderWord(base, bytes);
    const uint64_t older = root()->table;
    std::memset(base, 0, BlockBytes(bytes));
    if (!defects_.older_late) pmem::atomic_store(word, older);
    pmem::persist(base, BlockBytes(bytes));
    NameTable(offset, log2);
    if (defects_.older_late) {
      pmem::atomic_store(word, older);
      pmem::persist(word, sizeof *word);
    }
    pmem::mark("rehash.published");
    return base;
  }

  // The older tables are empty: none is named any more.
  void ForgetOlder(uint8_t* base, uint64_t bytes) const {
    uint64_t* word = OlderWord(base, bytes);
    pmem::atomic_store(word, uint64_t{0});
    pmem::persist(word, sizeof *word);
  }

  // `move` brings the items of all older tables into the first one; false: an item found no place, and stays where it
  // is. Then `grow` puts a larger table in front; false: no room, and the tables stay attached as they are.
  template <typename Move, typename Grow>
  static powercut_status MoveAll(Move move, Grow grow) {
    while (!move()) {
      if (!grow()) {
        pmem::mark("rehash.stuck");
        return POWERCUT_FULL;
      }
      pmem::mark("rehash.grown");
    }
    return POWERCUT_OK;
  }

  // Format's last step: the table exists. Precondition: it is durable and named.
  void WriteHeader(uint64_t magic, uint64_t geometry) const {
    TokenRoot* header = root();
    header->geometry = geometry;
    pmem::atomic_store(&header->magic, magic);
    if (defects_.header_not_flushed) {
      pmem::persist(&header, sizeof header);
    } else {
      pmem::persist(header, pmem::kLine);
    }
  }

  // Open's first step: is there such a table, formatted with these options?
  powercut_status CheckHeader(uint64_t magic, uint64_t geometry) const {
    if (root()->magic != magic) return POWERCUT_NOT_FORMATTED;
    return root()->geometry == geometry && allocator_.Matches() ? POWERCUT_OK : POWERCUT_CORRUPT;
  }

  // The result of `build(log2, &next)`: a durable table with every item, which nothing reaches yet. Otherwise nothing
  // was changed.
  enum class Built : uint8_t { kYes, kNoPlace, kNoRoom };

  // Replaces the table by one of 2^log2. Should an item find no place there, the next size is tried, below 2^end: a
  // small table can be unlucky.
  template <typename Body, typename Build, typename Replace>
  static powercut_status ExpandTo(uint32_t log2, uint32_t end, Build build, Replace replace) {
    for (; log2 < end; ++log2) {
      Body next;
      const Built built = build(log2, &next);
      if (built == Built::kNoRoom) {
        pmem::mark("expand.refused");
        return POWERCUT_FULL;
      }
      if (built == Built::kNoPlace) {
        pmem::mark("expand.again");
        continue;
      }
      replace(next);
      pmem::mark("expand.done");
      return POWERCUT_OK;
    }
    return POWERCUT_FULL;
  }
  template <typename Body, typename Build, typename Replace>
  static powercut_status ShrinkTo(uint32_t log2, Build build, Replace replace) {
    Body next;
    if (log2 == 0) return POWERCUT_FULL;
    if (build(log2, &next) != Built::kYes) {
      pmem::mark("shrink.refused");
      return POWERCUT_FULL;
    }
    replace(next);
    pmem::mark("shrink.done");
    return POWERCUT_OK;
  }

  // Is [offset, offset + bytes) inside one allocated block that begins there?
  bool IsBlock(uint64_t offset, uint64_t bytes) {
    bool found = false;
    allocator_.ForEach([&](uint64_t block, uint64_t length) { found = found || (block == offset && length >= bytes); });
    return found;
  }

  powercut_pool pool_;
  TokenBucket bucket_;
  TokenDefects defects_;
  uint64_t unit_;
  uint64_t older_size_;  // bytes behind a table's cells
  PoolAllocator allocator_;

 private:
  static uint64_t* OlderWord(uint8_t* base, uint64_t bytes) { return reinterpret_cast<uint64_t*>(base + bytes); }

  void OverwriteAtomically(uint8_t* value, const uint8_t* fresh) const {
    pmem::mark("update.atomic");
    if (defects_.value_in_halves) {
      for (int half = 0; half < 2; ++half) {
        uint32_t word;
        std::memcpy(&word, fresh + 4 * half, sizeof word);
        pmem::atomic_store(reinterpret_cast<uint32_t*>(value + 4 * half), word);
      }
    } else {
      uint64_t word;
      std::memcpy(&word, fresh, sizeof word);
      pmem::atomic_store(reinterpret_cast<uint64_t*>(value), word);
    }
    pmem::persist(value, sizeof(uint64_t));
  }

  // Log the old item, make the log valid, overwrite in place, make the log invalid; each step durable before the
  // next. Until the last one, recovery puts the old item back.
  void OverwriteLogged(uint8_t* slot, const uint8_t* item) const {
    pmem::mark("update.logged");
    TokenRoot* log = root();
    bucket_.Copy(log->log_item, slot);
    if (!defects_.log_unordered) pmem::persist(log->log_item, bucket_.item_size());
    SetLog(OffsetOf(slot));
    if (defects_.log_unordered) pmem::persist(log->log_item, bucket_.item_size());
    bucket_.CopyValue(slot, item);
    // If an item straddles two lines, only the value's line is dirty.
    const uint8_t* value = slot + bucket_.key_size();
    if (!defects_.log_cleared_early) pmem::persist(value, bucket_.item_size() - bucket_.key_size());
    pmem::mark("update.overwritten");
    SetLog(0);
    if (defects_.log_cleared_early) pmem::persist(value, bucket_.item_size() - bucket_.key_size());
  }

  void SetToken(uint8_t* bucket, uint32_t slot) const {
    bucket_.StoreTokens(bucket, bucket_.LoadTokens(bucket) | 1u << slot);
    bucket_.PersistTokens(bucket);
  }

  void SetLog(uint64_t slot) const {
    pmem::atomic_store(&root()->log_slot, slot);
    pmem::persist(&root()->log_slot, sizeof(uint64_t));
  }
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_TOKEN_TABLE_H_
