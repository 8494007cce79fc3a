// powercut-fidelity-unbuffered: the numbers of 3.5 of "Hash in a Flash", as one JSON object {"figures": [...]} on
// stdout. Deterministic.
#include "targets/common/counting/fidelity/paper_figures.h"

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "unbuffered", [](powercut::fidelity::Figures* figures) {
    powercut::counting::fidelity::OnAnSsd(powercut::counting::Scheme::kUnbuffered, figures);
  });
}
