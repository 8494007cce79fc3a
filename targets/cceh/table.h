// CCEH, cacheline-conscious extendible hashing (Nam, Cha, Choi, Noh, Nam: "Write-Optimized Dynamic Hashing for
// Persistent Memory", FAST 2019). README.md maps functions to sections of the paper, and has the
// protocol of its threads.
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_CCEH_TABLE_H_
#define POWERCUT_TARGETS_CCEH_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "targets/cceh/layout.h"
#include "targets/cceh/locks.h"
#include "targets/cceh/options.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::cceh {

class Table {
 public:
  // The longest items out of the slots; items=slot takes words of 8 bytes.
  static constexpr ItemSizes kSizes = {.most_key = 1024, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(cceh::Options);  // operations.cc
  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }

  // Region 0 is the root with the reserved keys. Then come kRegionSlots slots each, segment by segment: entry by entry
  // of the directory, where only the first of the entries that name a segment has items.
  uint64_t regions() const { return 1 + directory_->capacity * RegionsOfSegment(); }
  void Draw(Drawing* to);  // draw.cc
  template <typename Visit>
  void Walk(uint64_t region, Visit visit);
  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit);

  bool Reaches(uint64_t offset) { return ReachesSegment(offset) || ReachesItem(offset); }
  PoolAllocator& allocator() { return allocator_; }

 private:
  static constexpr uint64_t kRegionSlots = 16;

  // A key, and what the key is in a slot.
  struct Sought {
    Bytes key;
    uint64_t hash;
    uint64_t word;  // the key itself, or its hash where the slot points to the item
  };

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = BlocksBegin(options), .unit = kUnit}) {}

  static uint64_t BlocksBegin(const Options& options) {
    return sizeof(Root) + (options.items == Items::kTransaction ? sizeof(UndoLog) : 0);
  }
  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  UndoLog* log() const { return reinterpret_cast<UndoLog*>(root() + 1); }
  uint64_t OffsetOf(const void* at) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(at) - pool_.base);
  }
  Segment* SegmentAt(uint64_t offset) const { return reinterpret_cast<Segment*>(pool_.base + offset); }
  Segment* SegmentOf(uint64_t entry) const {
    return SegmentAt(__atomic_load_n(Current()->entries() + entry, __ATOMIC_ACQUIRE));
  }
  // The leading bits of the hash are the index of the directory.
  uint64_t EntryOf(uint64_t hash) const {
    const uint64_t depth = Depth();
    return depth == 0 ? 0 : hash >> (64 - depth);
  }
  // The authors' threads read the root each time that they use the directory.
  Directory* Current() const {
    if (!AsAuthors()) return directory_;
    return reinterpret_cast<Directory*>(pool_.base + pmem::atomic_load(&root()->directory));
  }
  uint64_t Depth() const { return AsAuthors() ? pmem::atomic_load(&Current()->depth) : depth_; }
  bool Has(Bug bug) const { return options_.bug == bug; }
  uint64_t RegionsOfSegment() const { return (options_.slots + kRegionSlots - 1) / kRegionSlots; }
  // Is this a slot's mark? A hash never is; an item whose key is lies in the root.
  static bool IsReserved(uint64_t key) { return key == kInvalid || key == kSentinel; }
  ReservedItem* Reserved(uint64_t key) const { return &root()->reserved[key == kInvalid ? 0 : 1]; }

  // Contents of slots.
  bool HasPointers() const { return options_.has_pointers(); }
  Sought Seek(Bytes key) const;
  uint64_t HashOfWord(uint64_t word) const { return HasPointers() ? word : HashOf(word); }
  ItemHeader* ItemAt(uint64_t offset) const { return reinterpret_cast<ItemHeader*>(pool_.base + offset); }
  // Returns whether a slot with the word of a key holds this key. Two keys may have one hash.
  bool Holds(const Slot* slot, const Sought& sought) const {
    return !HasPointers() || ItemAt(slot->value)->key() == sought.key;
  }
  template <typename Visit>
  bool Report(const Slot& slot, Visit visit) const {
    if (!HasPointers()) {
      const Slot copy = slot;
      return visit(BytesOf(copy.key), BytesOf(copy.value));
    }
    return HoldsItem(slot.value) && visit(ItemAt(slot.value)->key(), ItemAt(slot.value)->value());
  }
  static Bytes BytesOf(const uint64_t& word) { return {reinterpret_cast<const uint8_t*>(&word), sizeof word}; }

  // segment.cc
  // The slots that may hold a key are a window: its home bucket, which the trailing bits of the hash name, and the
  // buckets behind. With hash=double a second window follows, which another hash names.
  uint64_t WindowBegin(uint64_t hash) const { return (hash & (options_.slots / kSlotsPerLine - 1)) * kSlotsPerLine; }
  uint64_t WindowSize() const { return std::min<uint64_t>(uint64_t{options_.probe} * kSlotsPerLine, options_.slots); }
  uint64_t ProbedSlots() const { return options_.double_hashing ? 2 * WindowSize() : WindowSize(); }
  Slot* WindowSlot(Segment* segment, uint64_t hash, uint64_t i) const {
    const uint64_t begin = i < WindowSize() ? WindowBegin(hash) : WindowBegin(Mix(hash)) - WindowSize();
    return &segment->slots()[(begin + i) & (options_.slots - 1)];
  }
  bool IsInWindow(uint64_t slot, uint64_t begin) const {
    return ((slot - begin) & (options_.slots - 1)) < WindowSize();
  }
  bool IsInReach(uint64_t slot, uint64_t hash) const {
    return IsInWindow(slot, WindowBegin(hash)) || (options_.double_hashing && IsInWindow(slot, WindowBegin(Mix(hash))));
  }
  bool IsFree(const Segment* segment, uint64_t key) const;
  Slot* Find(Segment* segment, const Sought& sought) const;
  bool Place(Segment* segment, const Sought& sought, uint64_t value);
  void EnterShared(Segment* segment) const;
  void LeaveShared(Segment* segment) const;
  void EnterExclusive(Segment* segment) const;
  void LeaveExclusive(Segment* segment) const;
  // A block with the items of `from` (null: none) that `meta` covers, durable; null: the pool is full.
  Segment* NewSegment(const Segment* from, Meta meta, bool flushed);
  void ProbeAgain(const Segment* from, Segment* to, Meta meta) const;

  // operations.cc
  powercut_status InsertWord(const Sought& sought, uint64_t value);
  void Answer(const Slot* slot, ValueRoom* value) const;

  // items.cc
  uint64_t NewItem(Bytes key, Bytes value, uint64_t old);
  uint64_t FlushedBytes(uint64_t item, uint64_t old) const;
  powercut_status Replace(Slot* slot, Bytes key, Bytes value);
  bool Overwrite(uint64_t item, Bytes value);
  bool HoldsItem(uint64_t offset) const { return options_.IsItem(ItemAt(offset), allocator_.BytesOf(offset)); }
  bool ReachesItem(uint64_t offset);

  // transaction.cc
  // A change of one slot, from its construction to Commit(). With items=transaction it is an undo transaction, and
  // keeps the log from other threads.
  class Change {
   public:
    Change(Table* table, Slot* slot);
    // The change is durable at return. `item`: the block that the slot points to from now on, or 0.
    void Commit(const Slot* slot, uint64_t item);

   private:
    bool Has(Bug bug) const { return table_->Has(bug); }
    bool IsLogged() const { return table_->options_.items == Items::kTransaction; }
    void Flush(const Slot* slot, uint64_t item) const;

    Table* table_;
    SpinGuard guard_;
  };
  bool RollBack();

  // split.cc
  powercut_status Split(Segment* segment, uint64_t hash);
  // Empties the slots that `meta` covers, durably: the bug kSplitClearsFirst.
  void ClearCovered(Segment* segment, Meta meta) const;
  powercut_status SplitLazily(Segment* segment, uint64_t hash);
  powercut_status SplitByCopying(Segment* segment, uint64_t hash);

  // directory.cc
  bool ReachesSegment(uint64_t offset) const;
  // A block for a directory of twice the size; null: the pool is full.
  Directory* NewDirectory();
  void Double(Directory* bigger, uint64_t entry, const Segment* left, const Segment* right);
  // Makes `count` entries from `first` on name the segment.
  void Point(uint64_t first, uint64_t count, const Segment* segment);

  // threads.cc
  enum class Access : uint8_t { kShared, kAlone };
  // `published` with threads and items in the slots: the locks of the public code.
  bool AsAuthors() const { return options_.concurrent && !options_.hardened && !HasPointers(); }
  // `published` with undo transactions.
  bool AsPorted() const { return options_.items == Items::kTransaction && !options_.hardened; }
  // All else with threads: whoever changes a segment has it alone.
  bool Exclusive() const { return options_.concurrent && !AsAuthors(); }
  bool ChecksExists() const { return options_.concurrent && options_.hardened; }
  bool TryEnter(Segment* segment, Access access) const;
  // The segment of the hash, locked.
  Segment* Enter(uint64_t hash, Access access);
  void Leave(Segment* segment, Access access) const;
  Segment* Named(uint64_t hash);
  // The bug kDirectoryReadEarly: the directory is taken from the root, without its lock.
  Segment* NamedByRoot(uint64_t hash) const;
  Segment* EnterToChange(uint64_t hash);
  void LeaveChanged(Segment* segment) const;
  bool EnterToSplit(Segment* segment) const;
  powercut_status LookupAsAuthors(const Sought& sought, ValueRoom* value);
  Directory* LockDirectory();
  void UnlockDirectory(Directory* locked);
  // Null: one thread.
  uint8_t* LockOf(uint8_t Locks::* lock) { return options_.concurrent ? &(locks_.*lock) : nullptr; }
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t offset);

  // recover.cc
  powercut_status Attach();
  powercut_status Reconcile();

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
  Directory* directory_ = nullptr;
  uint64_t depth_ = 0;  // global depth
  Locks locks_;
};

template <typename Visit>
void Table::Walk(uint64_t region, Visit visit) {
  if (region == 0) {
    for (uint64_t key : {kInvalid, kSentinel}) {
      if (Reserved(key)->present != 0 && visit(BytesOf(key), BytesOf(Reserved(key)->value))) return;
    }
    return;
  }
  const uint64_t entry = (region - 1) / RegionsOfSegment(), part = (region - 1) % RegionsOfSegment();
  if (entry != 0 && directory_->entries()[entry - 1] == directory_->entries()[entry]) return;
  const Segment* segment = SegmentOf(entry);
  const Meta meta = Meta::Decode(segment->meta);
  const uint64_t end = std::min<uint64_t>((part + 1) * kRegionSlots, options_.slots);
  for (uint64_t i = part * kRegionSlots; i < end; ++i) {
    const Slot& slot = segment->slots()[i];
    const uint64_t key = slot.key;
    if (!IsReserved(key) && meta.Covers(HashOfWord(key)) && Report(slot, visit)) return;
  }
}

// A stale key, which a lazy split has left behind, is no copy: its hash leads to another segment.
template <typename Visit>
void Table::ForEachCopy(Bytes key, Visit visit) {
  const Sought sought = Seek(key);
  if (IsReserved(sought.word)) {
    if (Reserved(sought.word)->present != 0) visit(key, BytesOf(Reserved(sought.word)->value));
    return;
  }
  Segment* segment = SegmentOf(EntryOf(sought.hash));
  if (!Meta::Decode(segment->meta).Covers(sought.hash)) return;
  for (uint64_t i = 0; i < ProbedSlots(); ++i) {
    const Slot* slot = WindowSlot(segment, sought.hash, i);
    // Two windows may overlap.
    const auto index = static_cast<uint64_t>(slot - segment->slots());
    if (i >= WindowSize() && IsInWindow(index, WindowBegin(sought.hash))) continue;
    if (slot->key == sought.word && Holds(slot, sought) && Report(*slot, visit)) return;
  }
}

}  // namespace powercut::cceh
#endif  // POWERCUT_TARGETS_CCEH_TABLE_H_
