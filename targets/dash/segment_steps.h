// The steps of operations of Dash's two schemes in a segment: locks, the record and its bits, overflow metadata,
// displacement, the stash, duplicates.
//
// `Scheme` names the types of the table that derives from this: `Segment`, with its buckets in a row; `Options`; and
// `Bug`, where each step below finds its bugs by name.
//
// With items=pointer a record names an item out of the table. The steps move and compare records as they always do, and
// ask the item for its key where they need a key.
#ifndef POWERCUT_TARGETS_DASH_SEGMENT_STEPS_H_
#define POWERCUT_TARGETS_DASH_SEGMENT_STEPS_H_

#include <bit>
#include <cstdint>
#include <cstring>

#include "powercut/target.h"
#include "targets/common/planted_bugs.h"
#include "targets/common/scheme_table.h"
#include "targets/dash/bucket.h"
#include "targets/dash/segment_list.h"

namespace powercut::dash {

// With items=pointer.
inline constexpr ItemSizes kItemSizes = {.most_key = 4096, .most_value = 65536};

// Where a copy of a record lies.
template <typename Segment>
struct PlaceIn {
  Segment* segment = nullptr;
  uint32_t bucket = 0;  // stash buckets follow the normal ones
  uint32_t slot = 0;

  bool found() const { return segment != nullptr; }
};

// Where a copy of a record lies, in a bucket of any kind.
template <typename Segment>
struct SpotIn {
  Segment* segment = nullptr;
  Bucket* bucket = nullptr;
  uint32_t slot = 0;
  uint32_t stash = 0;  // kInPair, the number of the stash bucket, or a number beyond

  static constexpr uint32_t kInPair = ~0u;
  bool found() const { return segment != nullptr; }
};

// How much of a change is durable at return: all, the record without its bits, or nothing.
enum Durability { kDurable, kRecordOnly, kDeferred };

template <typename Scheme>
class SegmentSteps {
 protected:
  using Segment = typename Scheme::Segment;
  using Options = typename Scheme::Options;
  using Bug = typename Scheme::Bug;
  using Place = PlaceIn<Segment>;
  using Spot = SpotIn<Segment>;

  SegmentSteps(powercut_pool pool, const Options& options) : pool_(pool), options_(options) {}

  bool Has(Bug bug) const { return options_.bug == bug; }
  uint32_t bucket_mask() const { return options_.buckets - 1u; }
  uint32_t all_buckets() const { return uint32_t{options_.buckets} + options_.stash; }
  uint64_t segment_bytes() const { return sizeof(Segment) + all_buckets() * sizeof(Bucket); }
  uint32_t Next(uint32_t bucket) const { return (bucket + 1) & bucket_mask(); }
  uint32_t Previous(uint32_t bucket) const { return (bucket - 1) & bucket_mask(); }
  bool Full(Word word) const { return word.count() >= options_.slots; }
  Segment* SegmentAt(uint64_t offset) const { return reinterpret_cast<Segment*>(pool_.base + offset); }
  uint64_t OffsetOf(const void* in_pool) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(in_pool) - pool_.base);
  }
  Spot SpotOf(const Place& place) const {
    if (!place.found()) return {};
    const uint32_t stash = place.bucket < options_.buckets ? Spot::kInPair : place.bucket - options_.buckets;
    return {place.segment, place.segment->bucket(place.bucket), place.slot, stash};
  }
  // The mark behind an erase.
  const char* ErasedMark(const Spot& spot) const {
    return spot.stash == Spot::kInPair ? "erase" : spot.stash < options_.stash ? "erase.stash" : "erase.chain";
  }
  static uint64_t LoadWord(Bytes word) {
    uint64_t out;
    std::memcpy(&out, word.data, sizeof out);
    return out;
  }

  // Keys and items. The code below compares and hashes keys by these functions alone.
  Key Wanted(Bytes key) const { return options_.pointers ? Key{0, key} : Key{LoadWord(key), {}}; }
  Key KeyOf(const Record& record) const {
    return options_.pointers ? Key{0, ViewItem(record.key).key} : Key{record.key, {}};
  }
  Hash HashOf(const Key& key) const { return options_.pointers ? Hash(key.bytes) : Hash(key.word); }
  Hash HashOf(const Record& record) const { return HashOf(KeyOf(record)); }
  // Whether the record with this `key` word is of the key.
  bool Matches(uint64_t word, const Key& key) const {
    return options_.pointers ? ViewItem(word).key == key.bytes : word == key.word;
  }
  ItemView ViewOf(const Record& record) const {
    if (options_.pointers) return ViewItem(record.key);
    const auto bytes = [](const uint64_t& word) { return Bytes{reinterpret_cast<const uint8_t*>(&word), sizeof word}; };
    return {bytes(record.key), bytes(record.value)};
  }
  void PutValue(const Record& record, ValueRoom* value) const {
    if (options_.pointers) return value->Put(ViewItem(pmem::atomic_load(&record.key)).value);
    const uint64_t word = pmem::atomic_load(&record.value);
    value->Put({reinterpret_cast<const uint8_t*>(&word), sizeof word});
  }
  ItemHeader* ItemAt(uint64_t offset) const { return reinterpret_cast<ItemHeader*>(pool_.base + offset); }
  // Returns an empty key and value if no item of the pool can lie there. A lookup without a lock may follow a pointer
  // to a block that is free by now. `published` may follow the pointer of a record that a cut has torn.
  ItemView ViewItem(uint64_t offset) const {
    ItemView none{{pool_.base, 0}, {pool_.base, 0}};
    if (offset > pool_.size - sizeof(ItemHeader)) return none;
    const uint8_t* at = pool_.base + offset;
    const auto sizes = std::bit_cast<ItemHeader>(pmem::atomic_load(reinterpret_cast<const uint64_t*>(at)));
    if (!options_.Takes(sizes.key_size, sizes.value_size) || sizes.bytes() > pool_.size - offset) return none;
    const uint8_t* key = at + sizeof sizes;
    return {{key, sizes.key_size}, {key + sizes.key_size, sizes.value_size}};
  }
  static void StoreField(uint64_t* field, uint64_t value) {
    pmem::atomic_store(field, value);
    pmem::persist(field, sizeof *field);
  }

  void AwaitUnlocked(Segment* segment, uint32_t bucket) const {
    while ((pmem::atomic_load(&segment->bucket(bucket)->lock) & Bucket::kLocked) != 0) pmem::pause();
  }
  void Lock(Segment* segment, uint32_t bucket) const {
    AwaitUnlocked(segment, bucket);
    uint32_t* lock = &segment->bucket(bucket)->lock;
    pmem::atomic_store(lock, pmem::atomic_load(lock) | Bucket::kLocked);
  }
  // The release is not flushed: after a crash every lock is reset. close() must write it back.
  void Unlock(Segment* segment, uint32_t bucket) {
    uint32_t* lock = &segment->bucket(bucket)->lock;
    pmem::atomic_store(lock, (pmem::atomic_load(lock) + 1) & ~Bucket::kLocked);
    if (!options_.concurrent) segments_.Touch(OffsetOf(segment), bucket);
  }

  // Writes the record into a free slot, then sets its bits. The record is durable before the word that makes it
  // count. The fingerprint shares a line with the word and is stored before it, so that no crash shows the word
  // without it. Precondition: the bucket is not full.
  void Fill(Bucket* bucket, const Record& record, uint8_t fingerprint, bool member, Durability durability) {
    const Word word = bucket->Load();
    const auto slot = static_cast<uint32_t>(std::countr_one(word.allocated()));
    Record* at = &bucket->record[slot];
    pmem::atomic_store(&at->value, record.value);
    pmem::atomic_store(&at->key, record.key);
    if (durability != kDeferred && !Has(Bug::kWordBeforeRecord)) {
      pmem::persist(at, sizeof *at);
      pmem::mark("insert.record");
    }
    pmem::atomic_store(&bucket->fingerprint[slot], fingerprint);
    if (Has(Bug::kMembershipApart) && member) {
      bucket->Store(word.With(slot, false));
      pmem::atomic_store(&bucket->word, bucket->word | 1u << (18 + slot));
    } else {
      bucket->Store(word.With(slot, member));
    }
    if (durability == kDurable && !Has(Bug::kWordNotFlushed)) pmem::persist(&bucket->word, sizeof bucket->word);
    if (durability == kDurable && Has(Bug::kWordBeforeRecord)) pmem::persist(at, sizeof *at);
  }
  void Fill(Segment* segment, uint32_t index, const Record& record, uint8_t fingerprint, bool member,
            Durability durability) {
    Fill(segment->bucket(index), record, fingerprint, member, durability);
  }

  void Clear(Bucket* bucket, uint32_t slot, Durability durability) {
    bucket->Store(bucket->Load().Without(1u << slot));
    if (durability == kDurable) pmem::persist(&bucket->word, sizeof bucket->word);
  }
  void Clear(const Place& place, Durability durability) {
    Clear(place.segment->bucket(place.bucket), place.slot, durability);
  }

  // A fingerprint in the home bucket; if that has none free, in the bucket after it; else only a count.
  void AddOverflow(Segment* segment, const Hash& hash, uint32_t stash) {
    const uint32_t home = hash.bucket(bucket_mask());
    Overflow* mine = &segment->bucket(home)->overflow;
    bool noted = false;
    for (uint32_t index : {home, Next(home)}) {
      Overflow* at = &segment->bucket(index)->overflow;
      if (at->used == 15) continue;
      const auto free = static_cast<uint32_t>(std::countr_one(static_cast<uint8_t>(at->used)));
      at->fingerprint[free] = hash.fingerprint();
      at->place = static_cast<uint8_t>((at->place & ~(3u << (2 * free))) | stash << (2 * free));
      if (index != home) {
        pmem::mark("overflow.neighbour");
        at->members = static_cast<uint8_t>(at->members | 1u << free) & 15;
      }
      at->used = static_cast<uint8_t>(at->used | 1u << free) & 15;
      noted = true;
      break;
    }
    if (!noted) {
      pmem::mark("overflow.counted");
      ++mine->count;
    }
    mine->any = 1;
  }

  void RemoveOverflow(Segment* segment, const Hash& hash, uint32_t stash) {
    const uint32_t home = hash.bucket(bucket_mask());
    Overflow* mine = &segment->bucket(home)->overflow;
    Overflow* next = &segment->bucket(Next(home))->overflow;
    const auto drop = [&](Overflow* at, uint32_t candidates) {
      for (; candidates != 0; candidates &= candidates - 1) {
        const auto i = static_cast<uint32_t>(std::countr_zero(candidates));
        if (at->fingerprint[i] != hash.fingerprint() || (at->place >> (2 * i) & 3u) != stash) continue;
        at->used = static_cast<uint8_t>(at->used & ~(1u << i)) & 15;
        at->members = static_cast<uint8_t>(at->members & ~(1u << i)) & 15;
        return true;
      }
      return false;
    };
    if (!drop(mine, mine->used & ~mine->members & 15u) && !drop(next, next->used & next->members) && mine->count != 0) {
      --mine->count;
    }
    mine->any =
        (mine->used & ~mine->members & 15) != 0 || (next->used & next->members) != 0 || mine->count != 0 ? 1 : 0;
  }

  // The parts of the stash that may hold a record, one bit each.
  uint32_t StashOf(Segment* segment, const Hash& hash, bool trusted) const {
    const uint32_t all = ((1u << options_.stash) - 1) | Scheme::kBeyondStash;
    if (!options_.overflow || !(trusted || Has(Bug::kOverflowTrusted))) return all;
    const uint32_t home = hash.bucket(bucket_mask());
    // One load each: a reader without a lock may come between the stores of a writer, and looks at the version later.
    const auto load = [&](uint32_t index) {
      return std::bit_cast<Overflow>(
          pmem::atomic_load(reinterpret_cast<const uint64_t*>(&segment->bucket(index)->overflow)));
    };
    const Overflow mine = load(home);
    if (mine.any == 0) return 0;
    if (mine.count != 0) return all;
    const Overflow next = load(Next(home));
    uint32_t found = 0;
    const auto match = [&](const Overflow& at, uint32_t candidates) {
      for (uint32_t i = 0; i < 4; ++i) {
        if ((candidates >> i & 1) != 0 && at.fingerprint[i] == hash.fingerprint())
          found |= 1u << (at.place >> (2 * i) & 3);
      }
    };
    match(mine, mine.used & ~mine.members & 15u);
    match(next, next.used & next.members);
    return found & all;
  }

  // Visits the given slots that hold the key until `visit(slot)` returns true. Returns whether a visit returned true.
  template <typename Visit>
  bool Probe(const Bucket* bucket, uint32_t slots, const Key& key, const Hash& hash, Visit visit) const {
    for (; slots != 0; slots &= slots - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(slots));
      if (options_.fingerprints && pmem::atomic_load(&bucket->fingerprint[slot]) != hash.fingerprint()) continue;
      if (Matches(pmem::atomic_load(&bucket->record[slot].key), key) && visit(slot)) return true;
    }
    return false;
  }

  // In the buckets of the segment: visits until `visit(place)` returns true.
  template <typename Visit>
  void ForEachIn(Segment* segment, const Key& key, const Hash& hash, bool trusted, Visit visit) {
    const uint32_t home = hash.bucket(bucket_mask());
    const auto probe = [&](uint32_t index, uint32_t slots) {
      return Probe(segment->bucket(index), slots, key, hash,
                   [&](uint32_t slot) { return visit(Place{segment, index, slot}); });
    };
    const Word word = segment->bucket(home)->Load();
    if (probe(home, word.allocated() & ~word.members())) return;
    const Word next = segment->bucket(Next(home))->Load();
    if (probe(Next(home), next.allocated() & next.members())) return;
    ForEachStashBucket(StashOf(segment, hash, trusted),
                       [&](uint32_t index) { return probe(index, segment->bucket(index)->Load().allocated()); });
  }
  // Visits the buckets of these parts of the stash until `visit(index)` returns true. Returns whether a visit returned
  // true.
  template <typename Visit>
  bool ForEachStashBucket(uint32_t parts, Visit visit) const {
    for (uint32_t rest = parts & ~Scheme::kBeyondStash; rest != 0; rest &= rest - 1) {
      if (visit(options_.buckets + static_cast<uint32_t>(std::countr_zero(rest)))) return true;
    }
    return false;
  }

  // Without a split. False: the segment has no room.
  bool PlaceRecord(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
    if (PlaceInPair(segment, record, hash, durability)) return true;
    if (options_.displacement && PlaceByDisplacement(segment, record, hash, durability)) return true;
    return PlaceInStash(segment, record, hash, durability);
  }

  bool PlaceInPair(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
    const uint32_t home = hash.bucket(bucket_mask());
    const Word mine = segment->bucket(home)->Load();
    const Word next = segment->bucket(Next(home))->Load();
    if (Full(mine) && Full(next)) return false;
    const bool probing = options_.balance ? next.count() < mine.count() : Full(mine);
    pmem::mark(probing ? "insert.probing" : "insert.home");
    Fill(segment, probing ? Next(home) : home, record, hash.fingerprint(), probing, durability);
    return true;
  }

  // A record of b+1 whose home is b+1 goes to b+2; or one of b whose home is b-1 goes back there.
  bool PlaceByDisplacement(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
    const uint32_t home = hash.bucket(bucket_mask());
    const struct {
      uint32_t from, to;
      bool member;
      const char* mark;
    } ways[] = {{Next(home), Next(Next(home)), false, "displace.next"},
                {home, Previous(home), true, "displace.previous"}};
    for (const auto& way : ways) {
      if (Full(segment->bucket(way.to)->Load())) continue;
      const Word word = segment->bucket(way.from)->Load();
      const uint32_t movable = word.allocated() & (way.member ? word.members() : ~word.members());
      if (movable == 0) continue;
      pmem::mark(way.mark);
      const bool locks = durability == kDurable && !options_.concurrent;
      if (locks) Lock(segment, way.to);
      Displace({segment, way.from, static_cast<uint32_t>(std::countr_zero(movable))}, way.to, record, hash, durability);
      if (locks) Unlock(segment, way.to);
      return true;
    }
    return false;
  }

  // Copies the record of `from` to its other bucket, clears the original, and puts the new record into its slot. A
  // crash before the original is cleared leaves two equal copies, which recovery of the segment removes.
  void Displace(const Place& from, uint32_t to, const Record& record, const Hash& hash, Durability durability) {
    Bucket* bucket = from.segment->bucket(from.bucket);
    const bool member = bucket->Load().member(from.slot);
    const Record moved = bucket->record[from.slot];
    const uint8_t fingerprint = bucket->fingerprint[from.slot];
    DO_IF (Bug::kDisplaceClearFirst) Clear(from, durability);
    Fill(from.segment, to, moved, fingerprint, !member, durability);
    pmem::mark("displace.copied");
    SKIP_IF (Bug::kDisplaceClearFirst) Clear(from, Has(Bug::kDisplaceRefillAtOnce) ? kDeferred : durability);
    pmem::mark("displace.cleared");
    Fill(from.segment, from.bucket, record, hash.fingerprint(), from.bucket != hash.bucket(bucket_mask()), durability);
  }

  bool PlaceInStash(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
    for (uint32_t i = 0; i < options_.stash; ++i) {
      const uint32_t stash = (hash.bucket(bucket_mask()) + i) % options_.stash;
      const uint32_t index = options_.buckets + stash;
      if (Full(segment->bucket(index)->Load())) continue;
      pmem::mark("insert.stash");
      const bool locks = durability == kDurable && !options_.concurrent;
      if (locks) Lock(segment, index);
      Fill(segment, index, record, hash.fingerprint(), false, durability);
      pmem::mark("insert.stashed");
      AddOverflow(segment, hash, stash);
      if (locks) Unlock(segment, index);
      return true;
    }
    return false;
  }

  void ClearBuckets(Segment* segment) const {
    for (uint32_t b = 0; b < all_buckets(); ++b) std::memset(segment->bucket(b), 0, offsetof(Bucket, record));
  }

  // Flushes the metadata and the records.
  static void WriteBack(const Bucket* bucket) {
    uint32_t lines = 1;
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      const auto* record = reinterpret_cast<const uint8_t*>(&bucket->record[std::countr_zero(rest)]);
      lines |= 1u << (record - reinterpret_cast<const uint8_t*>(bucket)) / pmem::kLine;
    }
    for (uint32_t line = 0; line < 4; ++line) {
      if ((lines >> line & 1) != 0) pmem::flush_line(reinterpret_cast<const uint8_t*>(bucket) + line * pmem::kLine);
    }
  }

  // The slots whose record has moved.
  template <typename Moved>
  uint32_t SlotsOf(const Bucket* bucket, Moved moved) const {
    uint32_t slots = 0;
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      if (moved(HashOf(bucket->record[slot]))) slots |= 1u << slot;
    }
    return slots;
  }

  // Recovery: locks are nobody's, and overflow metadata, which is never flushed, is built again.
  void ResetBuckets(Segment* segment, bool keeps_locks) {
    const bool rebuild = !Has(Bug::kOverflowTrusted);
    for (uint32_t b = 0; b < all_buckets(); ++b) {
      Bucket* bucket = segment->bucket(b);
      if (!keeps_locks) pmem::atomic_store(&bucket->lock, 0u);
      if (rebuild) bucket->overflow = Overflow{};
      if (!options_.concurrent) segments_.Touch(OffsetOf(segment), b);
    }
    if (!rebuild) return;
    for (uint32_t stash = 0; stash < options_.stash; ++stash) {
      NoteOverflowOf(segment, segment->bucket(options_.buckets + stash), stash);
    }
  }
  void NoteOverflowOf(Segment* segment, const Bucket* bucket, uint32_t stash) {
    for (uint32_t rest = bucket->Load().allocated(); rest != 0; rest &= rest - 1) {
      AddOverflow(segment, HashOf(bucket->record[std::countr_zero(rest)]), stash);
    }
  }

  // A displacement leaves its copies in the home bucket and in the one after it.
  void RemoveDuplicates(Segment* segment, uint32_t index) {
    Bucket* bucket = segment->bucket(index);
    const Bucket* next = segment->bucket(Next(index));
    const Word word = bucket->Load();
    const Word beside = next->Load();
    for (uint32_t rest = word.allocated() & ~word.members(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      for (uint32_t other = beside.allocated() & beside.members(); other != 0; other &= other - 1) {
        const auto at = static_cast<uint32_t>(std::countr_zero(other));
        if (next->fingerprint[at] != bucket->fingerprint[slot]) continue;
        if (!Matches(next->record[at].key, KeyOf(bucket->record[slot]))) continue;
        pmem::mark("recover.duplicate");
        Clear({segment, index, slot}, Has(Bug::kDuplicateNotFlushed) ? kDeferred : kDurable);
      }
    }
  }

  // Raises the table's version, `global`, durably. `each(visit)` visits the segments.
  template <typename Each>
  void RaiseVersionOf(uint64_t* global, Each each) {
    uint64_t version = *global + 1;
    if (version > options_.versions) {
      // Version 0 is no table's: every segment is unrecovered before the numbers begin again.
      pmem::mark("open.versions_reset");
      each([](Segment* segment) {
        pmem::atomic_store(&segment->version, uint64_t{0});
        pmem::flush(&segment->version, sizeof segment->version);
      });
      pmem::fence();
      version = 1;
    }
    pmem::mark("open.crashed");
    pmem::atomic_store(global, version);
    SKIP_IF (Bug::kVersionNotPersisted) pmem::persist(global, sizeof *global);
  }

  // Makes the stores durable that operations leave unflushed: lock words and overflow metadata. Only an open after a
  // crash rebuilds these words, so a table that says it is clean must hold them.
  void WriteBackTouched() {
    bool flushed = false;
    for (uint64_t i = 0; i < segments_.size(); ++i) {
      for (uint32_t b = 0; b < all_buckets(); ++b) {
        // Threads do not note which ones they touch.
        if (!options_.concurrent && !segments_.IsTouched(i, b)) continue;
        pmem::flush_line(SegmentAt(segments_.offset(i))->bucket(b));
        flushed = true;
      }
    }
    if (flushed) pmem::fence();
  }

  powercut_pool pool_;
  Options options_;
  SegmentList segments_;
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_SEGMENT_STEPS_H_
