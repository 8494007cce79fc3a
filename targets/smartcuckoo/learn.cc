// Brings items of the table into the forest, one path at a time. Recovery learns every bucket, an operation of a table
// that was opened with forest=on_demand the buckets that it asks about.
#include "targets/smartcuckoo/table.h"

namespace powercut::smartcuckoo {

void Table::Learn(uint32_t b) {
  while (forest_.Backup(b) == Forest::kNone && geometry_.Occupied(Bucket(b))) {
    const uint32_t backup = PositionsOf(b).Other(b);
    // A cut during a move left a second copy in the backup position. As two edges the pair would be a cycle, that is,
    // a maximal subgraph where there is a vacancy. The backup is never in the forest here: its path would have led to
    // this bucket and dropped this copy.
    if (options_.hardened && !Has(Bug::kDuplicateKept) && Holds(backup, geometry_.Key(Bucket(b)))) {
      pmem::mark("learn.duplicate");
      Clear(backup);
    }
    forest_.Link(b, backup);
    forest_.SetBackup(b, backup);
    b = backup;
  }
}

}  // namespace powercut::smartcuckoo
