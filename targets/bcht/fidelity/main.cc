// powercut-fidelity-bcht: what this scheme reaches, as one JSON object on stdout. The SmartCuckoo paper prints no
// figure of it that depends on no machine. Deterministic.
#include "targets/common/cuckoo/fidelity/bench_table.h"

namespace powercut::cuckoo::fidelity {

void Measure(Figures* figures) {
  const double load = MaximumLoad({{"buckets", "32768"}});
  figures->AddOurs(
      "maximum load factor", load, "items/slots",
      "random 16-byte keys, 2 * 32768 buckets of 4 slots, until an insert finds no place; the paper prints "
      "no maximum");
}

}  // namespace powercut::cuckoo::fidelity
