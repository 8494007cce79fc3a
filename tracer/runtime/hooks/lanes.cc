#include <cstring>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/lane_hooks.h"

using powercut::runtime::announce_load;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::Pieces;
using powercut::runtime::place_of;

namespace {

constexpr uint64_t kWidestVector = 4096;  // bytes; the pass splits no vector, and none is wider

// Calls `announce(first, count)` for every run of contiguous active lanes.
template <typename Announce>
void for_each_run(const uint8_t* mask, uint32_t lanes, Announce announce) {
  for (uint32_t first = 0; first < lanes;) {
    if (mask[first] == 0) {
      ++first;
      continue;
    }
    uint32_t end = first;
    while (end < lanes && mask[end] != 0) ++end;
    announce(first, end - first);
    first = end;
  }
}

uint32_t active_lanes(const uint8_t* mask, uint32_t lanes) {
  uint32_t count = 0;
  for (uint32_t lane = 0; lane < lanes; ++lane) count += mask[lane] != 0;
  return count;
}

// Returns the place of a vector, which lies where its first active lane does. A vector without active lanes is not
// accessed.
template <typename T>
T* place_of_vector(T* addr, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] == 0) continue;
    auto* first = static_cast<const char*>(addr) + lane * element;
    return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(addr) + static_cast<uint64_t>(place_of(first) - first));
  }
  return addr;
}

// Finds the distance from the active lanes' addresses to their places. Returns false if it is not the same for all
// lanes.
bool same_shift(void* const* addresses, uint32_t lanes, const uint8_t* mask, uint64_t* shift) {
  bool first = true;
  *shift = 0;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] == 0) continue;
    const char* at = static_cast<const char*>(addresses[lane]);
    const auto of_lane = static_cast<uint64_t>(place_of(at) - at);
    if (!first && of_lane != *shift) return false;
    *shift = of_lane;
    first = false;
  }
  return true;
}

}  // namespace

extern "C" {

void* __powercut_range_store(void* addr, uint64_t size, uint32_t flags, const void* value) {
  return announce_store(addr, size, flags, value, call_site());
}

void* __powercut_range_load(const void* addr, uint64_t size) { return const_cast<void*>(announce_load(addr, size)); }

void* __powercut_masked_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                              const uint8_t* mask) {
  const CallSite site = call_site();
  Pieces pieces(flags);
  for_each_run(mask, lanes, [&](uint32_t first, uint32_t count) {
    char* at = static_cast<char*>(addr) + first * element;
    announce_store(at, count * element, pieces.flags_of(at, count * element),
                   static_cast<const char*>(values) + first * element, site);
  });
  return place_of_vector(addr, element, lanes, mask);
}

void* __powercut_masked_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  for_each_run(mask, lanes, [&](uint32_t first, uint32_t count) {
    announce_load(static_cast<const char*>(addr) + first * element, count * element);
  });
  return const_cast<void*>(place_of_vector(addr, element, lanes, mask));
}

uint64_t __powercut_scatter(void* const* addresses, uint64_t element, uint32_t lanes, uint32_t flags,
                            const void* values, const uint8_t* mask) {
  const CallSite site = call_site();
  uint64_t shift = 0;
  if (!same_shift(addresses, lanes, mask, &shift)) return 0;
  Pieces pieces(flags);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] == 0) continue;
    announce_store(addresses[lane], element, pieces.flags_of(addresses[lane], element),
                   static_cast<const char*>(values) + lane * element, site);
  }
  return shift;
}

uint64_t __powercut_gather(void* const* addresses, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  uint64_t shift = 0;
  if (!same_shift(addresses, lanes, mask, &shift)) return 0;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] != 0) announce_load(addresses[lane], element);
  }
  return shift;
}

void* __powercut_compress_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                                const uint8_t* mask) {
  const CallSite site = call_site();
  char packed[kWidestVector];
  uint64_t size = 0;
  for (uint32_t lane = 0; lane < lanes && size + element <= sizeof packed; ++lane) {
    if (mask[lane] == 0) continue;
    memcpy(packed + size, static_cast<const char*>(values) + lane * element, element);
    size += element;
  }
  return announce_store(addr, size, flags, packed, site);
}

void* __powercut_expand_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  return const_cast<void*>(announce_load(addr, active_lanes(mask, lanes) * element));
}

}  // extern "C"
