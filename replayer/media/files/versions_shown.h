// Versions of one file that a tree may show together: which sizes a sector's version excludes, and which versions a
// sector may show beside decided write calls ("Legal trees" of PROFILES.md, step 3).
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_VERSIONS_SHOWN_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_VERSIONS_SHOWN_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "replayer/media/files/file_view.h"

namespace powercut::files {

// Numbers of a size's versions: disjoint ranges, ascending, both ends included.
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;
bool is_in(const Ranges& ranges, uint32_t number);
// Returns the union.
Ranges with(const Ranges& ranges, const Ranges& more);
// Returns the largest size that is not excluded; nothing if all sizes are.
std::optional<uint64_t> largest(const FileView& file, const Ranges& excluded);

// Write calls that are, or are not, on disk as a whole; ascending.
using Calls = std::vector<std::pair<uint32_t, bool>>;
// Returns the versions that a sector may show beside these calls, each with the calls that it tells of. Precondition:
// the sector has a choice.
std::vector<std::pair<uint32_t, Calls>> showing(const FileView& file, bool whole_calls, uint64_t sector,
                                                const Calls& calls);

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_VERSIONS_SHOWN_H_
