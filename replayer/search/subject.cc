#include "replayer/search/subject.h"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

namespace powercut {

void put_failure(const Outcome& outcome, ResultBuffer* buffer) {
  buffer->drop();
  buffer->put_byte('!');
  buffer->put_byte(static_cast<uint8_t>(outcome.kind));
  buffer->put_byte(static_cast<uint8_t>(outcome.signal));
}

void finish_answer(Executor* executor, Outcome* outcome, ResultBuffer* buffer) {
  if (outcome->returned() && buffer->overflow()) {
    outcome->kind = Outcome::Kind::kUnknown;
    executor->runner().doubt("target code showed more in one answer than the engine can hold (256 MiB)");
  }
  if (!outcome->returned()) put_failure(*outcome, buffer);
}

ResultBuffer::ResultBuffer(size_t most) : most_(most) {
  void* at = mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no address space for results of target code");
  bytes_ = static_cast<char*>(at);
}

ResultBuffer::~ResultBuffer() { munmap(bytes_, most_); }

void ResultBuffer::put(const void* data, size_t size) {
  if (size > most_ - size_) {
    overflow_ = true;
    return;
  }
  if (size != 0) std::memcpy(bytes_ + size_, data, size);  // data may be null
  size_ += size;
}

std::vector<QueryId> all_queries(Subject* subject) {
  std::vector<QueryId> out;
  const GroupCounts counts = subject->groups();
  for (const GroupKind kind : kGroupKinds) {
    for (uint32_t i = 0; i < counts[kind]; ++i) {
      const std::span<const QueryId> members = subject->members({kind, i});
      out.insert(out.end(), members.begin(), members.end());
    }
  }
  return out;
}

}  // namespace powercut
