// Insertion: into a bucket or the stash (segment_steps.h), and a split if there is no room.
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Insert(Bytes key, Bytes value) { return InsertItem(key, value); }

powercut_status Table::InsertRecord(const Record& record, const Hash& hash) {
  if (AsAuthors()) return InsertAsAuthors(record, hash);
  if (options_.concurrent) return InsertBeside(record, hash);
  const uint32_t home = hash.bucket(bucket_mask());
  for (;;) {
    Segment* segment = nullptr;
    powercut_status status = Acquire(hash, &segment);
    if (status != POWERCUT_OK) return status;
    if (FindIn(segment, KeyOf(record), hash).found()) return POWERCUT_EXISTS;
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

}  // namespace powercut::dash
