// Dash-EH (Lu, Hao, Wang, Lo: "Dash: Scalable Hashing on Persistent Memory", VLDB 2020). README.md maps functions to
// the authors' code.
#ifndef POWERCUT_TARGETS_DASH_TABLE_H_
#define POWERCUT_TARGETS_DASH_TABLE_H_

#include <cstdint>
#include <optional>

#include "targets/common/scheme_table.h"
#include "targets/dash/author_steps.h"
#include "targets/dash/layout.h"
#include "targets/dash/options.h"

namespace powercut::dash {

class Table;

struct Extendible {
  using Table = dash::Table;
  using Segment = dash::Segment;
  using Options = dash::Options;
  using Bug = dash::Bug;
  static constexpr uint32_t kBeyondStash = 0;
  static constexpr Reach kWidest = Reach::kSegment;  // it splits then
};
using Place = PlaceIn<Segment>;

class Table : private AuthorSteps<Extendible> {
  friend class ThreadSteps<Extendible>;
  friend class AuthorSteps<Extendible>;

 public:
  static constexpr ItemSizes kSizes = kItemSizes;
  POWERCUT_MIXED_SCHEME_TABLE(dash::Options);  // insert.cc, change.cc, search.cc
  ~Table();                                    // recover.cc
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }
  void Draw(Drawing* to);  // draw.cc

  // Region 0 is the root and the directory; then each segment's header and each of its buckets.
  uint64_t regions() const { return 1 + segments_.size() * regions_per_segment(); }
  bool Reaches(uint64_t offset) {
    return offset == directory_at() || segments_.Has(offset) || (options_.pointers && NamesItem(offset));
  }
  PoolAllocator& allocator() { return allocator_; }
  uint64_t segment_count() const { return segments_.size(); }

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) {
    ForEachPlace(Wanted(key), [&](const Place& place) { return Report(place, visit); });
  }

  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    if (region == 0) return;
    const uint64_t part = (region - 1) % regions_per_segment();
    Segment* segment = SegmentAt(segments_.offset((region - 1) / regions_per_segment()));
    if (part == 0 || !Counts(segment)) return;
    const auto bucket = static_cast<uint32_t>(part - 1);
    for (uint32_t rest = segment->bucket(bucket)->Load().allocated(); rest != 0; rest &= rest - 1) {
      if (Report({segment, bucket, static_cast<uint32_t>(std::countr_zero(rest))}, visit)) return;
    }
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : AuthorSteps(pool, options, {.begin = sizeof(Root), .unit = kUnit}) {}

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  uint64_t geometry() const {
    return options_.buckets | options_.stash << 8 | options_.slots << 16 | uint64_t{options_.pointers} << 56;
  }
  uint64_t regions_per_segment() const { return 1 + all_buckets(); }

  template <typename Visit>
  bool Report(const Place& place, Visit& visit) const {
    const ItemView item = ViewOf(place.segment->bucket(place.bucket)->record[place.slot]);
    return visit(item.key, item.value);
  }
  // Visits the copies of a key until `visit(place)` returns true: in its segment, and in a segment that is split from
  // it.
  template <typename Visit>
  void ForEachPlace(const Key& key, Visit visit) {
    const Hash hash = HashOf(key);
    Segment* segment = SegmentOf(hash);
    bool stopped = false;
    const auto report = [&](const Place& place) {
      stopped = stopped || visit(place);
      return stopped;
    };
    ForEachIn(segment, key, hash, report);
    Segment* fresh = PendingSplit(segment);
    if (!stopped && fresh != nullptr && Counts(fresh)) ForEachIn(fresh, key, hash, report);
  }

  // insert.cc
  powercut_status InsertRecord(const Record& record, const Hash& hash);

  // directory.cc
  uint32_t global_depth() const { return static_cast<uint32_t>(pmem::atomic_load(&root()->directory) & 0xff); }
  uint64_t directory_at() const { return pmem::atomic_load(&root()->directory) & ~uint64_t{0xff}; }
  uint64_t* entries() const { return reinterpret_cast<uint64_t*>(pool_.base + directory_at()); }
  // Returns the segment that the directory names for hashes that begin with these bits. A directory may be replaced and
  // freed while its entry is read. The root's word names the directory by offset and depth, and the depth only grows. A
  // word that is equal before and after the read was therefore there all the time.
  Segment* Named(uint64_t bits) const {
    for (;;) {
      const uint64_t word = pmem::atomic_load(&root()->directory);
      const auto depth = static_cast<uint32_t>(word & 0xff);
      const auto* entry = reinterpret_cast<const uint64_t*>(pool_.base + (word & ~uint64_t{0xff}));
      Segment* segment = SegmentAt(pmem::atomic_load(entry + (depth == 0 ? 0 : bits >> (64 - depth))));
      if (!options_.concurrent || Has(Bug::kDirectoryUnchecked)) return segment;
      if (pmem::atomic_load(&root()->directory) == word) return segment;
    }
  }
  Segment* SegmentOf(const Hash& hash) const { return Named(hash.bits); }
  Segment* LeftSibling(const Identity& identity) const {
    return Named((identity.pattern - 1) << (64 - identity.depth));
  }
  // Doubles the directory if the segments of this depth have only one entry.
  powercut_status WidenDirectory(uint32_t depth);
  powercut_status DoubleDirectory(SpinGuard* guard);
  void PointDirectoryAt(Segment* segment);

  // search.cc
  Place Find(const Key& key, const Hash& hash);
  Place FindIn(Segment* segment, const Key& key, const Hash& hash);
  // Searches the segment like FindIn, without a look at the locks.
  Place FindHeld(Segment* segment, const Key& key, const Hash& hash);
  template <typename Visit>
  void ForEachIn(Segment* segment, const Key& key, const Hash& hash, Visit visit) {
    SegmentSteps::ForEachIn(segment, key, hash, IsRecovered(segment), visit);
  }

  // split.cc. With threads the caller holds every bucket.
  powercut_status Split(Segment* segment);
  void WriteSegment(Segment* segment, Identity identity, uint64_t link, State state) const;
  // Every step of a split after the new segment is linked; `resumed`: by recovery.
  powercut_status FinishSplit(Segment* segment, Segment* fresh, bool resumed);
  bool Rehash(Segment* segment, Segment* fresh, bool check_unique);
  void CopyInPlace(Segment* segment, Segment* fresh);
  void WriteBackAll(Segment* segment) const;
  void ClearMoved(Segment* segment, Identity moved);

  // threads.cc: what is the table's own in operations beside others.
  bool Holds(Segment* segment, const Hash& hash) const { return segment->Which().Covers(hash); }
  bool NeedsRecovery(Segment* segment, const Hash&) const { return !IsRecovered(segment); }
  // No bucket is freed while others read it.
  template <typename Unchanged>
  Spot FindHeld(Segment* segment, const Key& key, const Hash& hash, Unchanged) {
    return SpotOf(FindHeld(segment, key, hash));
  }
  bool TryLookupAs(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status);
  bool SearchUnrecovered(const Key& key, const Hash& hash, ValueRoom* value, powercut_status* status);
  template <typename Leave>
  std::optional<powercut_status> MakeRoom(Segment* segment, const Record&, const Hash&, Leave leave) {
    const powercut_status status = Split(segment);
    leave();
    if (status != POWERCUT_OK) return status;
    return std::nullopt;
  }
  // The steps for `published`, as the authors' code.
  powercut_status AcquireAsAuthors(const Hash& hash, Segment** out);
  std::optional<powercut_status> MakeRoomAsAuthors(Segment* segment, const Record& record, const Hash& hash);
  template <typename Visit>
  void ForEachOverflowing(Segment* segment, uint32_t parts, Visit visit) {
    ForEachStashBucket(parts, [&](uint32_t index) { return visit(segment->bucket(index)); });
  }
  powercut_status SplitAsAuthors(Segment* segment, const Hash& hash);
  void PublishAsAuthors(Segment* segment, Segment* fresh);

  // recover.cc
  powercut_status FindSegments();
  powercut_status RaiseVersion();
  // Whether a record names the item in this block. The key in the item says where its record would be.
  bool NamesItem(uint64_t offset);

  // recover_segment.cc
  bool IsRecovered(const Segment* segment) const {
    return pmem::atomic_load(&segment->version) == pmem::atomic_load(&root()->version);
  }
  // The new segment of a split that a crash has interrupted, or null.
  Segment* PendingSplit(Segment* segment) const;
  // Returns whether the segment's records count. Records count only after a split has made them durable; `published`
  // cannot tell.
  bool Counts(const Segment* segment) const { return !options_.hardened || segment->state != kNew; }
  // The segment of a hash, recovered: what every operation that writes begins with.
  powercut_status Acquire(const Hash& hash, Segment** out);
  powercut_status Recover(Segment* segment);
  void RecoverBuckets(Segment* segment);

  // verify.cc
  powercut_status VerifyDirectory(char* message, size_t size);
  powercut_status VerifySegment(Segment* segment, char* message, size_t size);
  powercut_status VerifyBucket(Segment* segment, uint32_t index, char* message, size_t size);

  uint32_t updating_ = 0;  // `published`: how many splits change entries
  bool open_ = false;      // close() has something to close
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_TABLE_H_
