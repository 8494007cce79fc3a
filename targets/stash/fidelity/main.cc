// powercut-fidelity-stash: the figures of the SmartCuckoo paper about this scheme that do not depend on a machine, as
// one JSON object on stdout. Deterministic.
#include "targets/common/cuckoo/fidelity/bench_table.h"

namespace powercut::cuckoo::fidelity {

void Measure(Figures* figures) {
  // Fig. 1: the share of insertions that fail, at loads that one-slot buckets only reach by keys that keep failing.
  BenchTable bench({{"buckets", "65536"}, {"stash", "4"}});
  const double failed = bench.FailuresUntil(0.9);
  figures->Add("Fig. 1: insertions that walk into an endless loop, up to load 0.9", "> 0.25", failed, "of insertions",
               failed > 0.25,
               "random 16-byte keys, 2 * 65536 one-slot buckets, a stash of 4; an insertion counts when it finds "
               "no place in tables or stash, and is dropped; reproduced: > 0.25");
}

}  // namespace powercut::cuckoo::fidelity
