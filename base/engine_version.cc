#include "base/engine_version.h"

namespace powercut {

const char* engine_version() { return POWERCUT_ENGINE_VERSION; }

}  // namespace powercut
