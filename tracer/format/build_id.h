// The GNU build id of a module: it tells a reader whether a trace was recorded with the build on disk.
#ifndef POWERCUT_TRACER_FORMAT_BUILD_ID_H_
#define POWERCUT_TRACER_FORMAT_BUILD_ID_H_

#include <cstdint>
#include <span>
#include <string>

namespace powercut {

// Returns the build id among the notes of one segment, in hex; empty if there is none.
std::string build_id_in_notes(std::span<const uint8_t> notes);
// Returns the build id of a 64-bit ELF file, in hex. Empty: the file has none, is of another kind or cannot be read.
std::string file_build_id(const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_BUILD_ID_H_
