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
  POWERCUT_SCHEME_TABLE(cceh::Options);  // operations.cc
  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }

  // Region 0 is the root with the reserved keys. Then come kRegionSlots slots each, segment by segment: entry by entry
  // of the directory, where only the first of the entries that name a segment has items.
  uint64_t regions() const { return 1 + directory_->capacity * RegionsOfSegment(); }
  void Draw(Drawing* to);  // draw.cc
  template <typename Visit>
  void Walk(uint64_t region, Visit visit);
  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit);

  bool Reaches(uint64_t offset) const;  // directory.cc
  PoolAllocator& allocator() { return allocator_; }

 private:
  static constexpr uint64_t kRegionSlots = 16;

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = kUnit}) {}

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
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
  static bool IsReserved(uint64_t key) { return key == kInvalid || key == kSentinel; }
  ReservedItem* Reserved(uint64_t key) const { return &root()->reserved[key == kInvalid ? 0 : 1]; }

  // segment.cc
  // The slots that may hold a key: its home bucket, which the trailing bits of the hash name, and the buckets behind.
  uint64_t WindowBegin(uint64_t hash) const { return (hash & (options_.slots / kSlotsPerLine - 1)) * kSlotsPerLine; }
  uint64_t WindowSize() const { return std::min<uint64_t>(uint64_t{options_.probe} * kSlotsPerLine, options_.slots); }
  Slot* WindowSlot(Segment* segment, uint64_t begin, uint64_t i) const {
    return &segment->slots()[(begin + i) & (options_.slots - 1)];
  }
  bool IsFree(const Segment* segment, uint64_t key) const;
  Slot* Find(Segment* segment, uint64_t hash, uint64_t key) const;
  bool Place(Segment* segment, uint64_t hash, uint64_t key, uint64_t value);
  void EnterShared(Segment* segment) const;
  void LeaveShared(Segment* segment) const;
  void EnterExclusive(Segment* segment) const;
  void LeaveExclusive(Segment* segment) const;
  // A block with the items of `from` (null: none) that `meta` covers, durable; null: the pool is full.
  Segment* NewSegment(const Segment* from, Meta meta, bool flushed);

  // split.cc
  powercut_status Split(Segment* segment, uint64_t hash);
  // Empties the slots that `meta` covers, durably: the bug kSplitClearsFirst.
  void ClearCovered(Segment* segment, Meta meta) const;
  powercut_status SplitLazily(Segment* segment, uint64_t hash);
  powercut_status SplitByCopying(Segment* segment, uint64_t hash);

  // directory.cc
  // A block for a directory of twice the size; null: the pool is full.
  Directory* NewDirectory();
  void Double(Directory* bigger, uint64_t entry, const Segment* left, const Segment* right);
  // Makes `count` entries from `first` on name the segment.
  void Point(uint64_t first, uint64_t count, const Segment* segment);

  // threads.cc
  enum class Access : uint8_t { kShared, kAlone };
  // `published` with threads.
  bool AsAuthors() const { return options_.concurrent && !options_.hardened; }
  // `hardened` with threads: whoever changes a segment has it alone.
  bool Exclusive() const { return options_.concurrent && options_.hardened; }
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
  powercut_status LookupAsAuthors(uint64_t hash, uint64_t key, uint8_t* value);
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
  const auto report = [&](uint64_t key, uint64_t value) {
    return visit(reinterpret_cast<const uint8_t*>(&key), reinterpret_cast<const uint8_t*>(&value));
  };
  if (region == 0) {
    for (uint64_t key : {kInvalid, kSentinel}) {
      if (Reserved(key)->present != 0 && report(key, Reserved(key)->value)) return;
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
    if (!IsReserved(key) && meta.Covers(HashOf(key)) && report(key, slot.value)) return;
  }
}

// A stale key, which a lazy split has left behind, is no copy: its hash leads to another segment.
template <typename Visit>
void Table::ForEachCopy(const uint8_t* bytes, Visit visit) {
  uint64_t key;
  std::memcpy(&key, bytes, sizeof key);
  if (IsReserved(key)) {
    if (Reserved(key)->present != 0) visit(bytes, reinterpret_cast<const uint8_t*>(&Reserved(key)->value));
    return;
  }
  const uint64_t hash = HashOf(key);
  Segment* segment = SegmentOf(EntryOf(hash));
  if (!Meta::Decode(segment->meta).Covers(hash)) return;
  for (uint64_t i = 0; i < WindowSize(); ++i) {
    const Slot* slot = WindowSlot(segment, WindowBegin(hash), i);
    if (slot->key == key && visit(bytes, reinterpret_cast<const uint8_t*>(&slot->value))) return;
  }
}

}  // namespace powercut::cceh
#endif  // POWERCUT_TARGETS_CCEH_TABLE_H_
