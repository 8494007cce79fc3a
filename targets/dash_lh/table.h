// Dash-LH (Lu, Hao, Wang, Lo: "Dash: Scalable Hashing on Persistent Memory", VLDB 2020). README.md maps functions to
// the authors' code.
#ifndef POWERCUT_TARGETS_DASH_LH_TABLE_H_
#define POWERCUT_TARGETS_DASH_LH_TABLE_H_

#include <cstdint>
#include <optional>

#include "targets/common/scheme_table.h"
#include "targets/dash/author_steps.h"
#include "targets/dash_lh/layout.h"
#include "targets/dash_lh/options.h"

namespace powercut::dash_lh {

class Table;

struct Linear {
  using Table = dash_lh::Table;
  using Segment = dash_lh::Segment;
  using Options = dash_lh::Options;
  using Bug = dash_lh::Bug;
  static constexpr uint32_t kBeyondStash = 1u << kChain;
  static constexpr dash::Reach kWidest = dash::Reach::kAround;  // the chain grows then
};
using dash::Locks;
// Its `stash` is kChain for a bucket of the chain.
using Spot = dash::SpotIn<Segment>;

class Table : private dash::AuthorSteps<Linear> {
  friend class dash::ThreadSteps<Linear>;
  friend class dash::AuthorSteps<Linear>;

 public:
  static constexpr ItemSizes kSizes = dash::kItemSizes;
  POWERCUT_MIXED_SCHEME_TABLE(dash_lh::Options);  // change.cc
  ~Table();                                       // recover.cc
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }
  void Draw(Drawing* to);  // draw.cc

  // Region 0 is the root; then each segment's header, each of its buckets, and its chain.
  uint64_t regions() const { return 1 + round().count() * regions_per_segment(); }
  bool Reaches(uint64_t offset);
  PoolAllocator& allocator() { return allocator_; }
  uint64_t segment_count() const { return round().count(); }

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) {
    ForEachCopyOf(Wanted(key), [&](const Spot& spot) { return Report(spot.bucket, spot.slot, visit); });
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    if (region == 0) return;
    const uint64_t part = (region - 1) % regions_per_segment();
    Segment* segment = SegmentOf((region - 1) / regions_per_segment());
    if (part == 0 || !Counts(segment)) return;
    const auto walk = [&](Bucket* bucket) {
      for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
        if (Report(bucket, static_cast<uint32_t>(std::countr_zero(rest)), visit)) return true;
      }
      return false;
    };
    if (part <= all_buckets()) {
      walk(segment->bucket(static_cast<uint32_t>(part - 1)));
    } else {
      ForEachInChain(segment, walk);
    }
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : AuthorSteps(pool, options, {.begin = sizeof(Root), .unit = kUnit}) {}

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  Bucket* BucketAt(uint64_t offset) const { return reinterpret_cast<Bucket*>(pool_.base + offset); }
  uint64_t geometry() const {
    return options_.buckets | options_.stash << 8 | options_.slots << 16 | uint64_t{options_.base} << 24 |
           uint64_t{options_.stride} << 32 | uint64_t{options_.expand} << 40 | uint64_t{options_.pointers} << 56;
  }
  uint64_t regions_per_segment() const { return 2 + all_buckets(); }

  template <typename Visit>
  bool Report(const Bucket* bucket, uint32_t slot, Visit& visit) const {
    const ItemView item = ViewOf(bucket->record[slot]);
    return visit(item.key, item.value);
  }
  // Visits the copies of a key until `visit(spot)` returns true: in its segment, and where that is absent or split, in
  // the segments that it comes from.
  template <typename Visit>
  void ForEachCopyOf(const Key& key, Visit visit) {
    const Hash hash = HashOf(key);
    bool stopped = false;
    for (uint64_t index = round().Index(hash);; index = Origin(index)) {
      Segment* segment = SegmentOf(index);
      if (Counts(segment)) {
        ForEachSpot(segment, key, hash, [&](const Spot& spot) {
          stopped = visit(spot);
          return stopped;
        });
      }
      if (stopped || IsSettled(segment)) return;
    }
  }

  // expand.cc: the directory.
  Round round() const { return Round::Decode(pmem::atomic_load(&root()->round)); }
  // Where a segment lies: its array, and its place there. The arrays double in size every `stride` of them.
  struct Seat {
    uint32_t array;
    uint64_t place;
  };
  uint64_t ArraySize(uint32_t array) const { return uint64_t{options_.base} << (array / options_.stride); }
  Seat SeatOf(uint64_t index) const;
  Segment* SegmentOf(uint64_t index) const;
  // Adds the next segments in the state ABSENT; operations that need such a segment split its origin first. If there is
  // no room, the table stays unchanged.
  void Expand();
  void ExpandAsAuthors();
  bool AllocateArray(uint32_t array);
  bool ListSegments(uint64_t block, uint64_t count);
  void ReleaseReserved(uint32_t array);

  // chain.cc
  // Visits the chain's buckets until `visit(bucket)` returns true.
  template <typename Visit>
  void ForEachInChain(Segment* segment, Visit visit) {
    ForEachInChain(segment, [] { return true; }, visit);
  }
  // A split frees buckets. `unchanged()` returns whether there was no split since this reader began. The function asks
  // `unchanged()` before it follows a link.
  template <typename Unchanged, typename Visit>
  void ForEachInChain(Segment* segment, Unchanged unchanged, Visit visit) {
    uint64_t at = pmem::atomic_load(&segment->chain);
    for (; at != 0 && unchanged(); at = pmem::atomic_load(&BucketAt(at)->next)) {
      if (visit(BucketAt(at))) return;
    }
  }
  // Visits all buckets of the segment: visit(bucket, stash), `stash` as in Spot.
  template <typename Visit>
  void ForEachBucket(Segment* segment, Visit visit) {
    for (uint32_t b = 0; b < all_buckets(); ++b) {
      visit(segment->bucket(b), b < options_.buckets ? Spot::kInPair : b - options_.buckets);
    }
    ForEachInChain(segment, [&](Bucket* bucket) {
      visit(bucket, kChain);
      return false;
    });
  }
  // Visits a key's copies in the segment until `visit(spot)` returns true.
  template <typename Visit>
  void ForEachSpot(Segment* segment, const Key& key, const Hash& hash, Visit visit) {
    ForEachSpot(segment, key, hash, [] { return true; }, visit);
  }
  template <typename Unchanged, typename Visit>
  void ForEachSpot(Segment* segment, const Key& key, const Hash& hash, Unchanged unchanged, Visit visit) {
    bool stopped = false;
    const bool trusted = IsRecovered(segment);
    ForEachIn(segment, key, hash, trusted, [&](const Place& place) {
      stopped = visit(SpotOf(place));
      return stopped;
    });
    if (stopped || (StashOf(segment, hash, trusted) >> kChain & 1) == 0) return;
    ForEachInChain(segment, unchanged, [&](Bucket* bucket) {
      return Probe(bucket, bucket->Load().allocated(), key, hash,
                   [&](uint32_t slot) { return visit(Spot{segment, bucket, slot, kChain}); });
    });
  }
  // False: no memory. Sets `*grown` if the chain has one bucket more.
  bool PlaceInChain(Segment* segment, const Record& record, const Hash& hash, dash::Durability durability, bool* grown);
  // Moves records of the chain back into the segment, and frees the buckets that are empty then.
  void Compact(Segment* segment);

  // change.cc
  powercut_status InsertRecord(const Record& record, const Hash& hash);
  template <typename Prepare, typename Apply>
  powercut_status ChangeRecord(const Key& wanted, Prepare prepare, Apply change);
  Spot FindIn(Segment* segment, const Key& key, const Hash& hash);
  Spot Find(const Key& key, const Hash& hash);

  // split.cc
  // Does a record of the new segment's origin belong to it?
  bool Moves(const Hash& hash, uint64_t fresh) const {
    const uint64_t distance = std::bit_floor(fresh);
    const uint64_t index = hash.suffix(static_cast<uint32_t>(std::bit_width(distance)));
    return Has(Bug::kSplitByHalf) ? index >= distance : index == fresh;
  }
  // With threads the caller holds every bucket of the origin.
  powercut_status Split(uint64_t fresh);
  powercut_status SplitHardened(uint64_t fresh);
  powercut_status SplitAsAuthors(uint64_t fresh);
  // Every step after the new segment's records are durable.
  void FinishSplit(uint64_t fresh);
  void GiveUpSplit(Segment* segment, Segment* fresh);
  void ClearMoved(Segment* segment, uint64_t fresh);
  void WriteBackAll(Segment* segment);
  bool PlaceAsAuthors(Segment* segment, const Record& record, const Hash& hash, dash::Durability durability);

  // threads.cc: the table's own half of operations beside other threads. A segment that is absent, or that other
  // threads fill at the moment, has no records: the records are in the segment's origin.
  Segment* SegmentOf(const Hash& hash) const;
  bool Holds(const Segment* segment, const Hash& hash) const { return SegmentOf(hash) == segment; }
  bool NeedsRecovery(const Segment*, const Hash& hash) const { return Unrecovered(hash).has_value(); }
  // Returns the first unrecovered segment on the way from the hash's own segment to the segment with its records.
  std::optional<uint64_t> Unrecovered(const Hash& hash) const;
  powercut_status AcquireBeside(const Hash& hash, Segment** out);
  powercut_status RecoverBeside(const Hash& hash);
  powercut_status SplitBeside(uint64_t fresh);
  // Locks all normal buckets of the segment. A holder of all normal buckets needs no lock of the stash, since the stash
  // lock is taken under two normal buckets.
  void LockAll(Segment* segment);
  void UnlockAll(Segment* segment);
  template <typename Unchanged>
  Spot FindHeld(Segment* segment, const Key& key, const Hash& hash, Unchanged unchanged) {
    Spot found;
    ForEachSpot(segment, key, hash, unchanged, [&](const Spot& spot) {
      found = spot;
      return true;
    });
    return found;
  }
  bool TryLookupAs(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status);
  bool SearchUnrecovered(const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status);
  template <typename Leave>
  std::optional<powercut_status> MakeRoom(Segment* segment, const Record& record, const Hash& hash, Leave leave) {
    bool grown = false;
    const bool placed = PlaceInChain(segment, record, hash, dash::kDurable, &grown);
    leave();
    if (grown) Expand();
    return placed ? POWERCUT_OK : POWERCUT_FULL;
  }
  // The steps for `published`, as the authors' code.
  powercut_status AcquireAsAuthors(const Hash& hash, Segment** out);
  // The caller holds every bucket of the new segment.
  powercut_status SplitBesideAsAuthors(uint64_t fresh);
  std::optional<powercut_status> MakeRoomAsAuthors(Segment* segment, const Record& record, const Hash& hash);
  template <typename Visit>
  void ForEachOverflowing(Segment* segment, uint32_t parts, Visit visit) {
    if (ForEachStashBucket(parts, [&](uint32_t index) { return visit(segment->bucket(index)); })) return;
    if ((parts >> kChain & 1) != 0) ForEachInChain(segment, visit);
  }

  // recover.cc
  // Whether a record names the item in this block. The key in the item says where its record would be.
  bool NamesItem(uint64_t offset);
  powercut_status FindSegments();
  powercut_status RaiseVersion();

  // recover_segment.cc
  bool IsRecovered(const Segment* segment) const {
    return pmem::atomic_load(&segment->version) == pmem::atomic_load(&root()->version);
  }
  // Returns whether the segment has all its own records, and no other segment has any of them.
  static bool IsSettled(const Segment* segment) {
    const uint64_t state = pmem::atomic_load(&segment->state);
    return state == kNormal || state == kSplitting;
  }
  // Returns whether the segment's records count. Records count only after a split has made them durable; `published`
  // cannot tell.
  bool Counts(const Segment* segment) const {
    return segment->state != kAbsent && (!options_.hardened || segment->state != kNew);
  }
  // The segment with the records of a hash, recovered: what every operation that writes begins with.
  powercut_status Acquire(const Hash& hash, Segment** out);
  // Recovers the segment and gives it its own records.
  powercut_status Prepare(uint64_t index);
  powercut_status Recover(uint64_t index);
  void RecoverBuckets(Segment* segment);
  void RecoverSplit(uint64_t index);
  powercut_status MergeBack(uint64_t fresh);

  // verify.cc
  powercut_status VerifyRoot(char* message, size_t size);
  powercut_status VerifySegment(uint64_t index, char* message, size_t size);
  powercut_status VerifyBucket(uint64_t index, uint32_t bucket, char* message, size_t size);
  powercut_status VerifyChain(uint64_t index, char* message, size_t size);
  powercut_status VerifyRecords(uint64_t index, Bucket* bucket, uint32_t stash, char* message, size_t size);

  bool open_ = false;  // close() has something to close
};

}  // namespace powercut::dash_lh
#endif  // POWERCUT_TARGETS_DASH_LH_TABLE_H_
