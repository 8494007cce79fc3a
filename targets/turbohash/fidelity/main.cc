// powercut-fidelity-turbohash: the figures of the TurboHash paper that do not depend on a machine, as one JSON object
// {"figures": [...]} on stdout. Deterministic.
#include <cstdio>
#include <exception>

#include "targets/turbohash/fidelity/bench_table.h"

int main() {
  try {
    nlohmann::json rows = nlohmann::json::array();
    powercut::turbohash::fidelity::LoadFactors(&rows);
    powercut::turbohash::fidelity::Probing(&rows);
    powercut::turbohash::fidelity::Costs(&rows);
    std::puts(nlohmann::json({{"figures", rows}}).dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-turbohash: %s\n", error.what());
    return 3;
  }
}
