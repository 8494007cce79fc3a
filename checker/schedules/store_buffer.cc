#include "checker/schedules/store_buffer.h"

#include <algorithm>
#include <cstring>

#include "xxhash.h"

namespace powercut {
namespace {

void* bytes_at(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

void StoreBuffer::store(uint64_t address, uint64_t at, std::span<const uint8_t> value, bool visible) {
  Entry& entry = entries_.emplace_back();
  entry.address = address;
  entry.at = at;
  entry.value.assign(value.begin(), value.end());
  const auto* there = static_cast<const uint8_t*>(bytes_at(at));
  entry.under.assign(there, there + value.size());
  entry.visible = visible;
}

void StoreBuffer::push(uint64_t address, bool visible) {
  Entry& entry = entries_.emplace_back();
  entry.address = address;
  entry.visible = visible;
}

void StoreBuffer::lay() {
  for (Entry& entry : entries_) {
    if (entry.at == 0) continue;
    std::memcpy(entry.under.data(), bytes_at(entry.at), entry.value.size());
    std::memcpy(bytes_at(entry.at), entry.value.data(), entry.value.size());
  }
}

void StoreBuffer::lift() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->at == 0) continue;
    std::memcpy(bytes_at(entry->at), entry->under.data(), entry->value.size());
    std::fill(entry->under.begin(), entry->under.end(), uint8_t{0});
  }
}

uint64_t StoreBuffer::digest() const {
  uint64_t out = 0;
  for (const Entry& entry : entries_) {
    uint64_t kind = entry.value.size();
    for (const KeptEvent& kept : entry.events) {
      const Event event = kept.view();
      kind = kind << 24 | uint64_t(event.kind) << 16 | uint64_t{event.code} << 8 | event.flags;
    }
    const uint64_t words[] = {out, entry.address, kind, XXH3_64bits(entry.value.data(), entry.value.size())};
    out = XXH3_64bits(words, sizeof words);
  }
  return out;
}

}  // namespace powercut
