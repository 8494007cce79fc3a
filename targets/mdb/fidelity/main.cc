// powercut-fidelity-mdb: Table 2 of "Hash in a Flash", as one JSON object {"figures": [...]} on stdout. Deterministic.
#include "targets/common/counting/fidelity/table2.h"

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "mdb", [](powercut::fidelity::Figures* figures) {
    powercut::counting::fidelity::Table2(powercut::counting::Scheme::kSegmented, figures);
  });
}
