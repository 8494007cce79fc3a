// powercut-fidelity-level: the figures of the Level hashing paper that do not depend on a machine, as one JSON
// object {"figures": [...]} on stdout. Deterministic.
#include <cstdio>
#include <exception>

#include "targets/level/fidelity/bench_table.h"

int main() {
  try {
    nlohmann::json rows = nlohmann::json::array();
    powercut::level::fidelity::LoadFactors(&rows);
    powercut::level::fidelity::Resizing(&rows);
    powercut::level::fidelity::CostOfOperations(&rows);
    std::puts(nlohmann::json({{"figures", rows}}).dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-level: %s\n", error.what());
    return 3;
  }
}
