// Turns the write-back instructions of a target library off, as they are in the engine: a stricter comparison.
#ifndef POWERCUT_ENGINE_BENCHMARKS_WRITE_BACKS_H_
#define POWERCUT_ENGINE_BENCHMARKS_WRITE_BACKS_H_

#include <optional>
#include <string>

#include "base/result.h"

namespace powercut {

// `library`: absolute path of a library that is loaded.
std::optional<EngineError> swallow_write_backs(const std::string& library);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_BENCHMARKS_WRITE_BACKS_H_
