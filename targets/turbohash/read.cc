// Lookups beside writers (3.4, Algorithm 1): no lock; the bucket's meta word, which every commit changes, says whether
// what was read belongs together.
//
//   meta | tags | key, value of a match | meta again: another word, and the bucket is read again
//
// All that was read lies between two equal words. No write was committed in between, and one that is under way writes
// only slots that this word does not show. A bucket without the key is checked as well: its tags may be newer than
// the word. In pointer mode the value is copied behind the check, since a cell does not change while a reader is in its
// epoch.
//
// The word may be visible and not durable yet. Who stored it holds the shard's lock until it is; so a reader that
// finds the lock held flushes the words that its answer comes from. With transactions=on that is not enough: a cut
// before the transaction's commit takes durable words back. The reader leaves its epoch and waits until the lock is
// free.
#include "targets/common/planted_bugs.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

powercut_status Table::LookupBesideWriters(Bytes key, ValueRoom* value) {
  const Home home = HomeOf(key);
  const powercut_status status = LookupInEpoch(home, key, value);
  if (!options_.transactional || !options_.hardened || Has(Bug::kTxReadInside)) return status;
  const LockWord* writer = &gates_[home.shard].writer;
  while (IsHeld(writer)) pmem::pause();
  return status;
}

powercut_status Table::LookupInEpoch(const Home& home, Bytes key, ValueRoom* value) {
  ShardGate* gate = &gates_[home.shard];
  Shard shard;
  DO_IF (Bug::kEpochAfterPointer) shard = shards_[home.shard].Load();
  const ReadEpoch epoch(&gate->readers);
  SKIP_IF (Bug::kEpochAfterPointer) shard = shards_[home.shard].Load();

  const auto settle = [&](uint64_t first, uint64_t last) {
    if (!IsHeld(&gate->writer)) return;
    pmem::mark("lookup.settles");
    for (uint64_t d = first; d <= last; ++d) pmem::flush_line(Probed(shard, home, d));
    pmem::fence();
  };
  uint64_t d = 0;
  for (bool ends = false; d < Scope(shard) && !ends; ++d) {
    uint64_t word = 0;
    if (ReadBucket(Probed(shard, home, d), home, key, &word, &ends)) {
      if (options_.pointer) {
        const uint64_t at = word + sizeof(ItemHeader) + key.size;
        CopyWords(at, value->Begin(BytesAt(at, HeaderOf(word).value_size).size), value->data());
      } else {
        value->Put({reinterpret_cast<const uint8_t*>(&word), options_.value_size});
      }
      if (options_.hardened && !Has(Bug::kDirtyHit)) settle(d, d);
      return POWERCUT_OK;
    }
  }
  // The answer that the key is absent comes from every bucket of the path.
  if (options_.hardened && !Has(Bug::kDirtyMiss)) settle(0, d - 1);
  return POWERCUT_NOT_FOUND;
}

bool Table::ReadBucket(const Bucket* bucket, const Home& home, Bytes key, uint64_t* value, bool* ends) const {
  // `published`: first the tags, then the bitmaps (3.4, R1 and R2), and only a match is checked (Algorithm 1, line 19).
  const bool tags_first = !options_.hardened || Has(Bug::kTagsFirst);
  const bool late = Has(Bug::kValueAfterCheck) && !options_.pointer;
  const bool checks_miss = options_.hardened && !Has(Bug::kMissUnchecked);
  for (;;) {
    uint64_t tags[2];
    if (tags_first) LoadTags(bucket, tags);
    const Meta meta = MetaOf(bucket);
    if (!tags_first) LoadTags(bucket, tags);
    *ends = meta.ends_path();

    const Slot* match = nullptr;
    uint32_t rest = MatchTags(options_.tags, reinterpret_cast<const uint8_t*>(tags), home.tag) & meta.live();
    for (; rest != 0 && match == nullptr; rest &= rest - 1) {
      const Slot* slot = &bucket->slots[std::countr_zero(rest)];
      if (pmem::atomic_load(&slot->key) != home.word) continue;
      if (!late) *value = pmem::atomic_load(&slot->value);
      if (options_.pointer && !CellHolds(*value, key)) continue;
      match = slot;
    }
    const bool checks = match != nullptr ? !Has(Bug::kValueUnchecked) : checks_miss;
    if (checks) {
      const Meta now = MetaOf(bucket);
      const uint32_t forgiven = Has(Bug::kOneWriteForgiven) && match != nullptr ? 1 : 0;
      if (now.sequence - meta.sequence > forgiven) {
        pmem::mark("lookup.again");
        continue;
      }
    }
    if (match != nullptr && late) *value = pmem::atomic_load(&match->value);
    return match != nullptr;
  }
}

void Table::LoadTags(const Bucket* bucket, uint64_t* tags) {
  const auto* words = reinterpret_cast<const uint64_t*>(bucket->tags);
  tags[0] = pmem::atomic_load(&words[0]);
  tags[1] = pmem::atomic_load(&words[1]);
}

bool Table::CellHolds(uint64_t cell, Bytes key) const {
  if (HeaderOf(cell).key_size != key.size) return false;
  uint8_t found[kSizes.most_key];
  CopyWords(cell + sizeof(ItemHeader), key.size, found);
  return std::memcmp(found, key.data, key.size) == 0;
}

// By whole words, wherever `from` lies in one: cells consist of words.
void Table::CopyWords(uint64_t from, size_t size, uint8_t* to) const {
  for (size_t done = 0; done < size;) {
    const size_t skipped = (from + done) % sizeof(uint64_t);
    const uint64_t word = pmem::atomic_load(reinterpret_cast<const uint64_t*>(pool_.base + (from + done - skipped)));
    const size_t taken = std::min(sizeof word - skipped, size - done);
    std::memcpy(to + done, reinterpret_cast<const uint8_t*>(&word) + skipped, taken);
    done += taken;
  }
}

}  // namespace powercut::turbohash
