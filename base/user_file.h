// The one place at which the engine reads what people or other programs wrote: whatever lies under the path, and
// whatever it holds, ends in a text, a JSON value or a sentence.
#ifndef POWERCUT_BASE_USER_FILE_H_
#define POWERCUT_BASE_USER_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/event_stream.h"
#include "base/result.h"

namespace powercut {

// Deeper than anything that is read nests; what walks over a value, such as dump(), goes down a stack.
inline constexpr int kMostNesting = 100;
// Larger than any plan, finding or list of requests.
inline constexpr uint64_t kMostFileBytes = uint64_t{1} << 30;

// The content of a regular file. Anything else, a pipe or a device above all, is refused before it is read: a read
// could wait for ever. `next` is the next step of the error.
Result<std::string> read_user_file(const std::string& path, const std::string& next);

// is_discarded() when `text` is no JSON, or nests deeper than kMostNesting.
Json parse_json(std::string_view text);

}  // namespace powercut
#endif  // POWERCUT_BASE_USER_FILE_H_
