// The GNU build id of a module, by which a reader knows that a trace is of the build that lies there now.
#ifndef POWERCUT_TRACER_FORMAT_BUILD_ID_H_
#define POWERCUT_TRACER_FORMAT_BUILD_ID_H_

#include <cstdint>
#include <span>
#include <string>

namespace powercut {

// Among the notes of one segment, in hex; empty when there is none.
std::string build_id_in_notes(std::span<const uint8_t> notes);
// Of an ELF file on disk; empty for one that has none, is no 64-bit ELF file or cannot be read.
std::string file_build_id(const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_BUILD_ID_H_
