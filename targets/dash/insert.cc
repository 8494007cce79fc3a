// Insertion: balanced insert, displacement, stash, and a split if nothing helps.
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  const Record record{LoadWord(key), LoadWord(value)};
  const Hash hash(record.key);
  if (AsAuthors()) return InsertAsAuthors(record, hash);
  if (options_.concurrent) return InsertBeside(record, hash);
  const uint32_t home = hash.bucket(bucket_mask());
  for (;;) {
    Segment* segment = nullptr;
    powercut_status status = Acquire(hash, &segment);
    if (status != POWERCUT_OK) return status;
    if (FindIn(segment, record.key, hash).found()) return POWERCUT_EXISTS;
    Lock(segment, home);
    Lock(segment, Next(home));
    const bool placed = PlaceRecord(segment, record, hash, kDurable);
    Unlock(segment, Next(home));
    Unlock(segment, home);
    if (placed) return POWERCUT_OK;
    status = Split(segment);
    if (status != POWERCUT_OK) return status;
  }
}

bool Table::PlaceRecord(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
  const uint32_t home = hash.bucket(bucket_mask());
  const Word mine = segment->bucket(home)->Load();
  const Word next = segment->bucket(Next(home))->Load();
  if (!Full(mine) || !Full(next)) {
    const bool probing = options_.balance ? next.count() < mine.count() : Full(mine);
    pmem::mark(probing ? "insert.probing" : "insert.home");
    Fill(segment, probing ? Next(home) : home, record, hash.fingerprint(), probing, durability);
    return true;
  }
  if (options_.displacement && PlaceByDisplacement(segment, record, hash, durability)) return true;
  return PlaceInStash(segment, record, hash, durability);
}

// A record of b+1 whose home is b+1 goes to b+2; or one of b whose home is b-1 goes back there.
bool Table::PlaceByDisplacement(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
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
void Table::Displace(const Place& from, uint32_t to, const Record& record, const Hash& hash, Durability durability) {
  Bucket* bucket = from.segment->bucket(from.bucket);
  const bool member = bucket->Load().member(from.slot);
  const Record moved = bucket->record[from.slot];
  const uint8_t fingerprint = bucket->fingerprint[from.slot];
  if (Has(Bug::kDisplaceClearFirst)) Clear(from, durability);
  Fill(from.segment, to, moved, fingerprint, !member, durability);
  pmem::mark("displace.copied");
  if (!Has(Bug::kDisplaceClearFirst)) Clear(from, Has(Bug::kDisplaceRefillAtOnce) ? kDeferred : durability);
  pmem::mark("displace.cleared");
  Fill(from.segment, from.bucket, record, hash.fingerprint(), from.bucket != hash.bucket(bucket_mask()), durability);
}

bool Table::PlaceInStash(Segment* segment, const Record& record, const Hash& hash, Durability durability) {
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

}  // namespace powercut::dash
