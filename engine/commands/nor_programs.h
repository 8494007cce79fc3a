// Programs of NOR flash for `powercut-engine model`: programs and erases of a device, as powercut/nor.h makes them.
#ifndef POWERCUT_ENGINE_COMMANDS_NOR_PROGRAMS_H_
#define POWERCUT_ENGINE_COMMANDS_NOR_PROGRAMS_H_

#include <nlohmann/json.hpp>

namespace powercut {

// Returns the crash points of a request with the parameters of a part (replayer/LITMUS.md, "NOR flash"), each with all
// contents of the device. Throws std::invalid_argument for a request that no part takes.
nlohmann::json answer_of_nor(const nlohmann::json& request);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_COMMANDS_NOR_PROGRAMS_H_
