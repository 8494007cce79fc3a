#include <cstring>

#include "tracer/runtime/call_site.h"
#include "tracer/runtime/lane_hooks.h"

using powercut::runtime::announce_load;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::Pieces;

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

}  // namespace

extern "C" {

void __powercut_range_store(void* addr, uint64_t size, uint32_t flags, const void* value) {
  announce_store(addr, size, flags, value, call_site());
}

void __powercut_range_load(const void* addr, uint64_t size) { announce_load(addr, size); }

void __powercut_masked_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                             const uint8_t* mask) {
  const CallSite site = call_site();
  Pieces pieces(flags);
  for_each_run(mask, lanes, [&](uint32_t first, uint32_t count) {
    char* at = static_cast<char*>(addr) + first * element;
    announce_store(at, count * element, pieces.flags_of(at, count * element),
                   static_cast<const char*>(values) + first * element, site);
  });
}

void __powercut_masked_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  for_each_run(mask, lanes, [&](uint32_t first, uint32_t count) {
    announce_load(static_cast<const char*>(addr) + first * element, count * element);
  });
}

void __powercut_scatter(void* const* addresses, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                        const uint8_t* mask) {
  const CallSite site = call_site();
  Pieces pieces(flags);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] == 0) continue;
    announce_store(addresses[lane], element, pieces.flags_of(addresses[lane], element),
                   static_cast<const char*>(values) + lane * element, site);
  }
}

void __powercut_gather(void* const* addresses, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (mask[lane] != 0) announce_load(addresses[lane], element);
  }
}

void __powercut_compress_store(void* addr, uint64_t element, uint32_t lanes, uint32_t flags, const void* values,
                               const uint8_t* mask) {
  const CallSite site = call_site();
  char packed[kWidestVector];
  uint64_t size = 0;
  for (uint32_t lane = 0; lane < lanes && size + element <= sizeof packed; ++lane) {
    if (mask[lane] == 0) continue;
    memcpy(packed + size, static_cast<const char*>(values) + lane * element, element);
    size += element;
  }
  announce_store(addr, size, flags, packed, site);
}

void __powercut_expand_load(const void* addr, uint64_t element, uint32_t lanes, const uint8_t* mask) {
  announce_load(addr, active_lanes(mask, lanes) * element);
}

}  // extern "C"
