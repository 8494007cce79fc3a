// How an operation comes to its segment beside other threads (concurrency=concurrent; README.md, "Threads").
//
// `hardened`: a segment's lock is a reader/writer lock. A writer holds the segment alone until the change is durable. A
// search shares the segment, so no answer rests on a change that a power cut may take. An operation shares the
// directory while it reads an entry and waits for the segment. A split holds the directory alone, so the locked segment
// is the segment that the directory names.
//
// `published`: as the authors' code, races included. All operations share the segment, a split has it alone.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {
namespace {

constexpr int64_t kAlone = -1;

bool TryShare(Segment* segment) {
  const int64_t seen = pmem::atomic_load(&segment->lock);
  return seen >= 0 && CompareExchange(&segment->lock, seen, seen + 1);
}

bool TryAlone(Segment* segment) {
  return pmem::atomic_load(&segment->lock) == 0 && CompareExchange(&segment->lock, int64_t{0}, kAlone);
}

// The authors' loop of compare-exchanges goes on from whatever it finds: it counts itself into a split as well.
void CountIn(Segment* segment) { __atomic_fetch_add(&segment->lock, int64_t{1}, __ATOMIC_ACQ_REL); }
void CountOut(Segment* segment) { __atomic_fetch_sub(&segment->lock, int64_t{1}, __ATOMIC_ACQ_REL); }

bool ShareByStore(Segment* segment) {
  const int64_t seen = pmem::atomic_load(&segment->lock);
  if (seen >= 0) pmem::atomic_store(&segment->lock, seen + 1);
  return seen >= 0;
}

}  // namespace

bool Table::TryEnter(Segment* segment, Access access) const {
  if (access == Access::kAlone) return TryAlone(segment);
  DO_IF (Bug::kLockLoadThenStore) return ShareByStore(segment);
  DO_IF (Bug::kCountedIntoChange) return CountIn(segment), true;
  return TryShare(segment);
}

Segment* Table::Enter(uint64_t hash, Access access) {
  if (Has(Bug::kSegmentStale) || Has(Bug::kDirectoryReadEarly)) {
    Segment* segment = Named(hash);
    while (!TryEnter(segment, access)) pmem::pause();
    return segment;
  }
  for (;;) {
    locks_.directory.Share();
    Segment* segment = SegmentOf(EntryOf(hash));
    bool entered = false;
    while (!(entered = TryEnter(segment, access)) && !locks_.directory.Wanted()) pmem::pause();
    locks_.directory.Unshare();
    if (entered) return segment;
  }
}

void Table::Leave(Segment* segment, Access access) const {
  if (access == Access::kAlone) return LeaveExclusive(segment);
  CountOut(segment);
}

Segment* Table::NamedByRoot(uint64_t hash) const {
  const auto* directory = reinterpret_cast<Directory*>(pool_.base + pmem::atomic_load(&root()->directory));
  const uint64_t depth = pmem::atomic_load(&directory->depth);
  return SegmentAt(pmem::atomic_load(directory->entries() + (depth == 0 ? 0 : hash >> (64 - depth))));
}

// The segment that the directory names now, and perhaps not any more when it is used.
Segment* Table::Named(uint64_t hash) {
  DO_IF (Bug::kDirectoryReadEarly) return NamedByRoot(hash);
  locks_.directory.Share();
  Segment* segment = SegmentOf(EntryOf(hash));
  locks_.directory.Unshare();
  return segment;
}

Segment* Table::EnterToChange(uint64_t hash) {
  if (Exclusive()) return Enter(hash, Access::kAlone);
  if (!AsAuthors()) {
    Segment* segment = SegmentOf(EntryOf(hash));
    EnterShared(segment);
    return segment;
  }
  for (;;) {
    const uint64_t entry = EntryOf(hash);
    Segment* segment = SegmentOf(entry);
    if (pmem::atomic_load(&segment->lock) != kAlone && Meta::Decode(pmem::atomic_load(&segment->meta)).Covers(hash)) {
      CountIn(segment);
      return segment;
    }
    pmem::pause();
  }
}

void Table::LeaveChanged(Segment* segment) const {
  if (Exclusive()) return Leave(segment, Access::kAlone);
  if (AsAuthors()) return CountOut(segment);
  LeaveShared(segment);
}

// False: another thread was inside, and the insert begins again. (In the authors' code it does so at once, and stores
// to the lock in each turn.)
bool Table::EnterToSplit(Segment* segment) const {
  if (!AsAuthors()) {
    EnterExclusive(segment);
    return true;
  }
  if (CompareExchange(&segment->lock, int64_t{0}, kAlone)) return true;
  while (pmem::atomic_load(&segment->lock) > 0) pmem::pause();
  return false;
}

// CCEH::Get. The entry is read again for each use of the lock. The searched segment, the segment whose lock is taken
// and the segment whose lock is released may thus be three. The value is read at last. A copy-on-write split changes no
// segment, so there a search takes no lock.
powercut_status Table::LookupAsAuthors(const Sought& sought, ValueRoom* value) {
  const uint64_t entry = EntryOf(sought.hash);
  Segment* segment = SegmentOf(entry);
  if (!options_.cow) CountIn(SegmentOf(entry));
  const Slot* slot = Find(segment, sought);
  if (!options_.cow) CountOut(SegmentOf(entry));
  if (slot == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t found = pmem::atomic_load(&slot->value);
  value->Put(BytesOf(found));
  return POWERCUT_OK;
}

Directory* Table::LockDirectory() {
  if (Exclusive() && !Has(Bug::kDirectoryUnlocked)) locks_.directory.Lock();
  while (AsAuthors()) {
    Directory* directory = Current();
    if (CompareExchange(&directory->lock, uint64_t{0}, uint64_t{1})) return directory;
    pmem::pause();
  }
  return directory_;
}

void Table::UnlockDirectory(Directory* locked) {
  if (Exclusive() && !Has(Bug::kDirectoryUnlocked)) locks_.directory.Unlock();
  // The lock of a directory that was replaced is freed with it.
  if (AsAuthors() && locked == Current()) pmem::atomic_store(&locked->lock, uint64_t{0});
}

uint64_t Table::Allocate(uint64_t bytes) {
  const SpinGuard guard(LockOf(&Locks::allocator));
  return allocator_.Allocate(bytes);
}

void Table::Free(uint64_t offset) {
  const SpinGuard guard(LockOf(&Locks::allocator));
  allocator_.Free(offset);
}

}  // namespace powercut::cceh
