// Reads the bytes of a line from a file that people or programs wrote.
#ifndef POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_
#define POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_

#include <string>

#include "base/json_field.h"
#include "replayer/models/line_log.h"

namespace powercut {

// Returns the bytes of a field of pairs of hex digits. Throws Malformed, whose message says that the field should be
// `wanted`.
std::string bytes_of(const JsonField& field, const std::string& wanted);
// Returns the content of a field of 128 hex digits. Throws Malformed for any other field.
Content content_of(const JsonField& field);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_
