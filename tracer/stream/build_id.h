// The GNU build id of an ELF file on disk: what a trace's module carries, where the module is not loaded here.
#ifndef POWERCUT_TRACER_STREAM_BUILD_ID_H_
#define POWERCUT_TRACER_STREAM_BUILD_ID_H_

#include <string>

namespace powercut {

// In hex; empty for a file that has none, is no 64-bit ELF file or cannot be read.
std::string file_build_id(const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_BUILD_ID_H_
