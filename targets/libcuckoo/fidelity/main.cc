// powercut-fidelity-libcuckoo: the figures of the SmartCuckoo paper about this scheme that do not depend on a machine,
// as one JSON object on stdout. Deterministic.
#include "targets/common/cuckoo/fidelity/bench_table.h"

namespace powercut::cuckoo::fidelity {
namespace {

void Measure(Figures* figures) {
  const double load = MaximumLoad({{"buckets", "65536"}});
  figures->Add("4: highest load factor that the comparison uses", 0.9, load, "items/slots", load >= 0.9,
               "random 16-byte keys, 65536 buckets of 4 slots, until the search finds no path; the paper's text "
               "names 0.9 (Fig. 1) and prints no maximum; reproduced: at least 0.9");
}

}  // namespace
}  // namespace powercut::cuckoo::fidelity

int main() { return powercut::cuckoo::fidelity::Print(powercut::cuckoo::fidelity::Measure); }
