#ifndef POWERCUT_TARGETS_CLEVEL_FIDELITY_LOAD_FACTORS_H_
#define POWERCUT_TARGETS_CLEVEL_FIDELITY_LOAD_FACTORS_H_

#include "nlohmann/json.hpp"

namespace powercut::clevel::fidelity {

// Fig. 3 and the maximal load factor of 3.1.1 and 4.2, one row a claim.
nlohmann::json LoadFactors();

}  // namespace powercut::clevel::fidelity
#endif  // POWERCUT_TARGETS_CLEVEL_FIDELITY_LOAD_FACTORS_H_
