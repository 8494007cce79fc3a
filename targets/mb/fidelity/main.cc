// powercut-fidelity-mb: Table 2 and Figures 5, 7, 8 and 10 to 12 of "Hash in a Flash", as one JSON object {"figures":
// [...]} on stdout. Deterministic.
#include "targets/common/counting/fidelity/paper_figures.h"

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "mb", [](powercut::fidelity::Figures* figures) {
    powercut::counting::fidelity::Table2(powercut::counting::Scheme::kBounded, figures);
    powercut::counting::fidelity::OnAnSsd(powercut::counting::Scheme::kBounded, figures);
  });
}
