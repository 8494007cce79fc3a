// The operations that clients call.
#include <new>
#include <string_view>

#include "targets/common/counting/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::counting {
namespace {

// A call that gets no memory has changed nothing that counts: changes are stored elsewhere before they leave the RAM
// buffer.
template <typename Call>
powercut_status WithoutThrowing(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

}  // namespace

// "The frequency of a queried item is the total frequency found in the change segment, RAM buffer, and data segment"
// (2.7).
powercut_status Table::SumOf(uint64_t key, int64_t* sum) {
  Spot spot;
  const powercut_status status = FindInData(key, &spot);
  if (status != POWERCUT_OK) return status;
  *sum = spot.count;
  const uint32_t slot = PositionOf(key).slot;
  std::vector<Staged> staged;
  if (!ReadStaged(slot, &staged)) return POWERCUT_CORRUPT;
  for (const Staged& one : staged) {
    if (one.change.key == key) *sum = one.change.On(*sum);
  }
  if (const Change* change = buffer_.Find(slot, key); change != nullptr) *sum = change->On(*sum);
  return POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* bytes, uint8_t* value) {
  return WithoutThrowing([&] {
    int64_t sum = 0;
    const powercut_status status = SumOf(KeyOf(bytes), &sum);
    if (status != POWERCUT_OK) return status;
    std::memcpy(value, &sum, sizeof sum);
    return sum == 0 ? POWERCUT_NOT_FOUND : POWERCUT_OK;
  });
}

powercut_status Table::Increment(const uint8_t* bytes, int64_t delta) {
  return WithoutThrowing([&] {
    const uint64_t key = KeyOf(bytes);
    const uint32_t slot = PositionOf(key).slot;
    if (delta == 0) return POWERCUT_OK;
    if (!buffered()) {
      Spot spot;
      const powercut_status status = FindInData(key, &spot);
      return status == POWERCUT_OK ? WriteAtOnce(key, spot, Change::Sum(spot.count, delta)) : status;
    }
    if (buffer_.Find(slot, key) == nullptr && buffer_.full()) {
      const powercut_status status = Empty();
      if (buffer_.full()) return status == POWERCUT_OK ? POWERCUT_FULL : status;
    }
    buffer_.Add(slot, key, delta);
    return POWERCUT_OK;
  });
}

// The RAM buffer may grow beyond its size for it: an erase makes room.
powercut_status Table::Erase(const uint8_t* bytes) {
  return WithoutThrowing([&] {
    const uint64_t key = KeyOf(bytes);
    const uint32_t slot = PositionOf(key).slot;
    int64_t sum = 0;
    powercut_status status = SumOf(key, &sum);
    if (status != POWERCUT_OK) return status;
    if (sum == 0) return POWERCUT_NOT_FOUND;
    if (!buffered()) {  // "it can either be removed or its frequency can be set to zero" (2.6)
      Spot spot;
      status = FindInData(key, &spot);
      return status == POWERCUT_OK ? WriteAtOnce(key, spot, 0) : status;
    }
    if (buffer_.Find(slot, key) == nullptr && buffer_.full() && Empty() == POWERCUT_CORRUPT) return POWERCUT_CORRUPT;
    buffer_.Erase(slot, key);
    return POWERCUT_OK;
  });
}

powercut_status Table::Maintain(const char* command) {
  return WithoutThrowing([&] {
    const std::string_view name = command;
    const bool staged = !logs_.empty();
    if (name == "stage" && staged) return Stage();
    if (name == "merge" && buffered()) return staged ? MergeLogs() : MergeBuffer();
    if (name == "sync" && buffered()) {
      if (Has(Bug::kSyncLazy) && buffer_.size() == 0) return POWERCUT_OK;
      const powercut_status status = Empty();
      SKIP_IF (Bug::kStageUnflushed) device_.Flush();
      return status;
    }
    return POWERCUT_UNSUPPORTED;
  });
}

}  // namespace powercut::counting
