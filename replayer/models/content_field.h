// The bytes of a line in a file that people or programs wrote.
#ifndef POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_
#define POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_

#include <string>

#include "base/json_field.h"
#include "replayer/models/line_log.h"

namespace powercut {

// Of pairs of hex digits. Throws Malformed, which says that the field should be `wanted`.
std::string bytes_of(const JsonField& field, const std::string& wanted);
// Of 128 hex digits. Throws Malformed.
Content content_of(const JsonField& field);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_CONTENT_FIELD_H_
