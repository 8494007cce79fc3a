// powercut-fidelity-clevel: the figures of the Clevel hashing paper that do not depend on a machine, as one JSON object
// {"figures": [...]} on stdout. Deterministic.
#include <cstdio>
#include <exception>

#include "targets/clevel/fidelity/load_factors.h"

int main() {
  try {
    std::puts(nlohmann::json({{"figures", powercut::clevel::fidelity::LoadFactors()}}).dump(1).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "powercut-fidelity-clevel: %s\n", error.what());
    return 3;
  }
}
