// Contents of sectors by number: equal bytes have one number. A content may be shorter than a sector, where a size cuts
// it.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_CONTENTS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_CONTENTS_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace powercut::files {

using ContentId = uint32_t;
// Another file's old data: no bytes that anybody knows.
inline constexpr ContentId kGarbage = UINT32_MAX;

class Contents {
 public:
  explicit Contents(uint64_t sector) : zeroes_(of(std::string(sector, '\0'))) {}

  ContentId of(std::string_view bytes) {
    if (const auto found = numbers_.find(bytes); found != numbers_.end()) return found->second;
    const auto number = static_cast<ContentId>(bytes_.size());
    bytes_.emplace_back(bytes);
    numbers_.emplace(bytes_.back(), number);
    return number;
  }
  // Precondition: not kGarbage.
  std::string_view operator[](ContentId content) const { return bytes_[content]; }
  // Returns the content's first `size` bytes.
  ContentId cut(ContentId content, uint64_t size) {
    return content == kGarbage ? kGarbage : of(bytes_[content].substr(0, size));
  }
  ContentId zeroes() const { return zeroes_; }  // a whole sector

 private:
  std::deque<std::string> bytes_;
  absl::flat_hash_map<std::string_view, ContentId> numbers_;
  ContentId zeroes_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_CONTENTS_H_
