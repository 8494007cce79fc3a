// powercut-fidelity-turbohash: the figures of the TurboHash paper that do not depend on a machine, as one JSON object
// {"figures": [...]} on stdout. Deterministic.
#include "targets/turbohash/fidelity/bench_table.h"

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "turbohash", [](powercut::fidelity::Figures* figures) {
    powercut::turbohash::fidelity::LoadFactors(figures);
    powercut::turbohash::fidelity::Probing(figures);
    powercut::turbohash::fidelity::Costs(figures);
  });
}
