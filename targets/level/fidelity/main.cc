// powercut-fidelity-level: the figures of the Level hashing paper that do not depend on a machine, as one JSON
// object {"figures": [...]} on stdout. Deterministic.
#include "targets/level/fidelity/bench_table.h"

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "level", [](powercut::fidelity::Figures* figures) {
    powercut::level::fidelity::LoadFactors(figures);
    powercut::level::fidelity::Resizing(figures);
    powercut::level::fidelity::CostOfOperations(figures);
  });
}
