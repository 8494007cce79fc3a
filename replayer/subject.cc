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

}  // namespace powercut
