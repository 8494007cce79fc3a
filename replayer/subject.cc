#include "replayer/subject.h"

#include <cstring>

namespace powercut {

void put_failure(const Outcome& outcome, ResultBuffer* buffer) {
  buffer->clear();
  buffer->put_byte('!');
  buffer->put_byte(static_cast<uint8_t>(outcome.kind));
  buffer->put_byte(static_cast<uint8_t>(outcome.signal));
}

void ResultBuffer::put(const void* data, size_t size) {
  if (size_ + size > bytes_.size()) {
    overflow_ = true;
    return;
  }
  std::memcpy(bytes_.data() + size_, data, size);
  size_ += size;
}

std::vector<QueryId> all_queries(Subject* subject) {
  std::vector<QueryId> out;
  const std::array<uint32_t, Group::kKinds> counts = subject->groups();
  for (uint8_t kind = 0; kind < Group::kKinds; ++kind) {
    for (uint32_t i = 0; i < counts[kind]; ++i) {
      const std::span<const QueryId> members = subject->members({kind, i});
      out.insert(out.end(), members.begin(), members.end());
    }
  }
  return out;
}

}  // namespace powercut
