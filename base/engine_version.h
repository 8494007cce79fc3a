// The version of this engine, as `--version`, traces and event streams have it.
#ifndef POWERCUT_BASE_ENGINE_VERSION_H_
#define POWERCUT_BASE_ENGINE_VERSION_H_

namespace powercut {

// Such as "0.2.0": of powercut/__init__.py.
const char* engine_version();

}  // namespace powercut
#endif  // POWERCUT_BASE_ENGINE_VERSION_H_
