// Operations of Dash's two schemes beside other threads, `published`: the protocol of the authors' code, races
// included. A bucket is released before its bits are durable, and a lookup that ends in the stash does not look at the
// version again.
//
// `Scheme::Table` gives, beside what thread_steps.h asks for,
//   AcquireAsAuthors(hash, Segment**)                  the segment of a hash, with the two buckets of its key held
//   MakeRoomAsAuthors(Segment*, record, hash)          an insert that found room in no bucket: the stash and what
//   follows.
//                                                      Releases all. Nothing: begin again
//   ForEachOverflowing(Segment*, parts, visit)         buckets of the stash and beyond, until `visit(bucket)` says true
#ifndef POWERCUT_TARGETS_DASH_AUTHOR_STEPS_H_
#define POWERCUT_TARGETS_DASH_AUTHOR_STEPS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "targets/dash/thread_steps.h"

namespace powercut::dash {

template <typename Scheme>
class AuthorSteps : protected ThreadSteps<Scheme> {
 protected:
  using Steps = ThreadSteps<Scheme>;
  using Steps::AwaitUnlocked;
  using Steps::bucket_mask;
  using Steps::Fill;
  using Steps::FindHeld;
  using Steps::Full;
  using Steps::KeyOf;
  using Steps::Lock;
  using Steps::Next;
  using Steps::options_;
  using Steps::PersistWord;
  using Steps::Previous;
  using Steps::stash_lock;
  using Steps::table;
  using Steps::TryLock;
  using Steps::Unlock;
  using typename Steps::Change;
  using typename Steps::Segment;
  using typename Steps::Spot;

  using Steps::Steps;

  bool AsAuthors() const { return options_.concurrent && !options_.hardened; }

  // The second bucket, and those of a displacement, are only tried. An operation that does not get one begins again;
  // here it waits first until that bucket has been free once.
  bool TryLockOr(Segment* segment, uint32_t bucket, std::initializer_list<uint32_t> held) {
    if (TryLock(segment, bucket)) return true;
    for (uint32_t other : held) Unlock(segment, other);
    AwaitUnlocked(segment, bucket);
    return false;
  }
  // False: begin again.
  bool TryLockPair(Segment* segment, const Hash& hash) {
    const uint32_t home = hash.bucket(bucket_mask());
    Lock(segment, home);
    return TryLockOr(segment, Next(home), {home});
  }
  void UnlockPair(Segment* segment, const Hash& hash) {
    const uint32_t home = hash.bucket(bucket_mask());
    Unlock(segment, Next(home));
    Unlock(segment, home);
  }

  powercut_status InsertAsAuthors(const Record& record, const Hash& hash) {
    for (;;) {
      Segment* segment = nullptr;
      const powercut_status status = table().AcquireAsAuthors(hash, &segment);
      if (status != POWERCUT_OK) return status;
      if (FindHeld(segment, KeyOf(record), hash).found()) {
        UnlockPair(segment, hash);
        return POWERCUT_EXISTS;
      }
      switch (PlaceInBuckets(segment, record, hash)) {
        case Attempt::kPlaced:
          return POWERCUT_OK;
        case Attempt::kBusy:
          break;
        case Attempt::kFull: {
          const std::optional<powercut_status> made = table().MakeRoomAsAuthors(segment, record, hash);
          if (made.has_value()) return *made;
        }
      }
    }
  }

  // The authors' code has no update. This one follows their order for a delete.
  powercut_status UpdateAsAuthors(const Key& key, Bytes value, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = table().AcquireAsAuthors(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
    const Spot spot = FindHeld(segment, key, hash);
    const uint32_t first = spot.bucket == segment->bucket(next) ? next : home;
    Change change;
    const bool full = spot.found() && !this->PrepareChange(&spot.bucket->record[spot.slot], key, value, &change);
    const bool changes = spot.found() && !full;
    if (changes) pmem::atomic_store(change.at, change.word);
    Unlock(segment, first);
    if (changes) pmem::persist(change.at, sizeof *change.at);
    Unlock(segment, first == home ? next : home);
    if (full) return POWERCUT_FULL;
    if (changes) pmem::mark("update");
    if (changes) this->FinishChange(change);
    return changes ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }

  powercut_status EraseAsAuthors(const Key& key, const Hash& hash) {
    Segment* segment = nullptr;
    const powercut_status status = table().AcquireAsAuthors(hash, &segment);
    if (status != POWERCUT_OK) return status;
    const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
    const Spot spot = FindHeld(segment, key, hash);
    if (!spot.found()) {
      UnlockPair(segment, hash);
      return POWERCUT_NOT_FOUND;
    }
    if (spot.stash == Spot::kInPair) {
      const uint32_t first = spot.bucket == segment->bucket(next) ? next : home;
      this->Clear(spot.bucket, spot.slot, kDeferred);
      Unlock(segment, first);
      PersistWord(spot.bucket);
      Unlock(segment, first == home ? next : home);
    } else {
      Lock(segment, stash_lock());
      this->Clear(spot.bucket, spot.slot, kDeferred);
      Unlock(segment, stash_lock());
      PersistWord(spot.bucket);
      this->RemoveOverflow(segment, hash, spot.stash);
      UnlockPair(segment, hash);
    }
    pmem::mark(this->ErasedMark(spot));
    return POWERCUT_OK;
  }

  // The version of the first bucket is looked at before the second one is searched, and after a hit in the stash.
  bool TryLookupAsAuthors(Segment* segment, const Key& key, const Hash& hash, ValueRoom* value,
                          powercut_status* status) {
    const uint32_t home = hash.bucket(bucket_mask()), next = Next(home);
    const auto version = [&](uint32_t bucket) { return pmem::atomic_load(&segment->bucket(bucket)->lock); };
    const uint32_t my_version = version(home), next_version = version(next);
    if (((my_version | next_version) & Bucket::kLocked) != 0 || table().SegmentOf(hash) != segment) return false;
    const auto find = [&](const Bucket* bucket, uint32_t slots) {
      return this->Probe(bucket, slots, key, hash, [&](uint32_t slot) {
        this->PutValue(bucket->record[slot], value);
        return true;
      });
    };
    *status = POWERCUT_OK;
    const Word mine = segment->bucket(home)->Load();
    const bool in_mine = find(segment->bucket(home), mine.allocated() & ~mine.members());
    if (version(home) != my_version) return false;
    if (in_mine) return true;
    const Word beside = segment->bucket(next)->Load();
    const bool in_next = find(segment->bucket(next), beside.allocated() & beside.members());
    if (version(next) != next_version) return false;
    if (in_next) return true;
    bool stashed = false;
    table().ForEachOverflowing(segment, this->StashOf(segment, hash, true), [&](const Bucket* bucket) {
      return stashed = find(bucket, bucket->Load().allocated());
    });
    if (stashed) return version(home) == my_version;
    *status = POWERCUT_NOT_FOUND;
    return true;
  }

 private:
  enum class Attempt : uint8_t { kPlaced, kBusy, kFull };

  // Precondition: the caller holds the two buckets of the key. At return the caller holds no bucket. At kFull the
  // caller still holds both buckets, and with displacement the bucket before them as well.
  Attempt PlaceInBuckets(Segment* segment, const Record& record, const Hash& hash) {
    const uint32_t home = hash.bucket(bucket_mask()), next = Next(home), far = Next(next), previous = Previous(home);
    const Word mine = segment->bucket(home)->Load(), beside = segment->bucket(next)->Load();
    if (!Full(mine) || !Full(beside)) {
      const bool probing = options_.balance ? beside.count() < mine.count() : Full(mine);
      pmem::mark(probing ? "insert.probing" : "insert.home");
      const uint32_t chosen = probing ? next : home;
      Fill(segment, chosen, record, hash.fingerprint(), probing, kRecordOnly);
      Unlock(segment, chosen);
      PersistWord(segment->bucket(chosen));
      Unlock(segment, probing ? home : next);
      return Attempt::kPlaced;
    }
    if (options_.displacement) {
      if (!TryLockOr(segment, far, {next, home})) return Attempt::kBusy;
      if (DisplaceAsAuthors(segment, next, far, home, record, hash)) return Attempt::kPlaced;
      Unlock(segment, far);
      if (!TryLockOr(segment, previous, {next, home})) return Attempt::kBusy;
      if (DisplaceAsAuthors(segment, home, previous, next, record, hash)) return Attempt::kPlaced;
    }
    return Attempt::kFull;
  }

  // Each bucket is released before its bits are durable. False: nothing is released.
  bool DisplaceAsAuthors(Segment* segment, uint32_t from, uint32_t to, uint32_t other, const Record& record,
                         const Hash& hash) {
    Bucket* bucket = segment->bucket(from);
    const bool member = from == hash.bucket(bucket_mask());
    const Word word = bucket->Load();
    const uint32_t movable = word.allocated() & (member ? word.members() : ~word.members());
    if (movable == 0 || Full(segment->bucket(to)->Load())) return false;
    pmem::mark(member ? "displace.previous" : "displace.next");
    const auto slot = static_cast<uint32_t>(std::countr_zero(movable));
    Fill(segment, to, Record{bucket->record[slot]}, bucket->fingerprint[slot], !member, kRecordOnly);
    Unlock(segment, to);
    PersistWord(segment->bucket(to));
    this->Clear(bucket, slot, kDurable);
    Fill(segment, from, record, hash.fingerprint(), !member, kRecordOnly);
    Unlock(segment, from);
    PersistWord(bucket);
    Unlock(segment, other);
    return true;
  }
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_AUTHOR_STEPS_H_
