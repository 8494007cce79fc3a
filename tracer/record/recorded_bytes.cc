#include "tracer/record/recorded_bytes.h"

#include <sys/mman.h>

#include <cassert>
#include <cstring>

#include "tracer/world/memory_range.h"

namespace powercut {

namespace {

constexpr size_t kNamedCalls = 5;

uint8_t* map_zeroes(uint64_t size) {
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(bytes != MAP_FAILED);
  return static_cast<uint8_t*>(bytes);
}

// "f, g and 3 more", or "" for none.
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamedCalls; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamedCalls) text += " and " + std::to_string(names.size() - kNamedCalls) + " more";
  return text;
}

}  // namespace

void RecordedBytes::Unmap::operator()(uint8_t* bytes) const { munmap(bytes, size); }

RecordedBytes::RecordedBytes(uint64_t pool_size, bool searched)
    : searched_(searched), bytes_(map_zeroes(pool_size), Unmap{pool_size}) {}

void RecordedBytes::add(const Event& event) {
  undone_ = undone_ || (searched_ && event.kind == EventKind::kFork);
  if (undone_ || (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore)) return;
  any_store_ = true;
  assert(event.addr <= bytes_.get_deleter().size && event.size <= bytes_.get_deleter().size - event.addr);
  std::memcpy(bytes_.get() + event.addr, event.value.data(), event.size);
}

std::optional<EngineError> RecordedBytes::unrecorded(const Pool& pool, const std::string& library,
                                                     const std::vector<std::string>& externals) const {
  assert(pool.size() == bytes_.get_deleter().size);
  uint64_t at = 0;
  const uint8_t* held = pool.bytes();
  while (at < pool.size() && std::memcmp(held + at, bytes_.get() + at, kPageSize) == 0) at += kPageSize;
  if (at == pool.size()) return std::nullopt;
  while (held[at] == bytes_[at]) ++at;
  // Code of the pass names what it calls; nothing named means that there is no such code.
  if (!any_store_ && externals.empty()) {
    return usage_error("no store of this library can be seen: it was not compiled through the tracing pass", library,
                       "Compile and link it with 'powercut cc' or 'powercut c++', which add the pass.");
  }
  const std::string calls = some_of(externals);
  return usage_error("code that was not compiled through the tracing pass writes to the pool (first at offset " +
                         std::to_string(at) + "), and its stores cannot be seen",
                     library,
                     "Compile all that stores to the pool with 'powercut cc' or 'powercut c++'." +
                         (calls.empty() ? "" : " Called, and not compiled so: " + calls + "."));
}

}  // namespace powercut
