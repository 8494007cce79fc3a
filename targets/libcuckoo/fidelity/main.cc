// powercut-fidelity-libcuckoo: what this scheme reaches, as one JSON object on stdout. The papers that compare with it
// print no figure of it that depends on no machine. Deterministic.
#include "targets/common/cuckoo/fidelity/bench_table.h"

namespace powercut::cuckoo::fidelity {

void Measure(Figures* figures) {
  const double load = MaximumLoad({{"buckets", "65536"}});
  figures->AddOurs("maximum load factor", load, "items/slots",
                   "random 16-byte keys, 65536 buckets of 4 slots, until the search finds no path; the papers print no "
                   "maximum");
}

}  // namespace powercut::cuckoo::fidelity
