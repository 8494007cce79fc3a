// Which of a bucket's tags equal the tag of a key: one vector comparison (3.3), chosen at run time. All kinds read the
// same 16 bytes by one load and answer the same.
#ifndef POWERCUT_TARGETS_TURBOHASH_TAGS_H_
#define POWERCUT_TARGETS_TURBOHASH_TAGS_H_

#include <cstdint>

namespace powercut::turbohash {

// kAuto is for people: ParseOptions() replaces it.
enum class Tags : uint8_t { kScalar, kAvx2, kAvx512, kAuto, kCount };

bool HasTags(Tags kind);
// The widest kind that this CPU has.
Tags BestTags();

// Bit i is set when tags[i] == tag, for all 16 bytes.
uint32_t MatchTags(Tags kind, const uint8_t* tags, uint8_t tag);

}  // namespace powercut::turbohash
#endif  // POWERCUT_TARGETS_TURBOHASH_TAGS_H_
