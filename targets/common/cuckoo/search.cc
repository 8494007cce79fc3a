// The two buckets of a key, and search.
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

// With tags the second bucket follows from the first and the tag, and the first from the second (partial-key cuckoo
// hashing). An item can thus be moved without a read of its key.
uint64_t Table::Home(const SlotArray& array, const Probe& probe, int which) const {
  if (options_.tags) return (probe.hash[0] ^ (which == 0 ? 0 : Mix(probe.tag() + uint64_t{1}))) & array.mask;
  const uint64_t table = geometry_.tables == 2 && which == 1 ? array.mask + 1 : 0;
  return table + (probe.hash[which] & array.mask);
}

uint64_t Table::Alternative(const Place& place) const {
  if (options_.tags) {
    const uint8_t tag = Shape::TagIn(geometry_.bucket.LoadHeader(BucketAt(place)), place.slot);
    return (place.index ^ Mix(tag + uint64_t{1})) & place.array->mask;
  }
  const Probe probe = ProbeOf(SlotAt(place));
  const uint64_t first = Home(*place.array, probe, 0);
  return first == place.index ? Home(*place.array, probe, 1) : first;
}

Place Table::Find(const uint8_t* key) {
  Place found;
  ForEachPlace(key, [&](const Place& place) {
    found = place;
    return true;
  });
  return found;
}

Place Table::FindOtherCopy(const Place& place) {
  const Item item = Load(place);
  Place found;
  ForEachPlace(item.bytes, [&](const Place& other) {
    if (other == place) return false;
    found = other;
    return true;
  });
  return found;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  if (locks_ != nullptr && Has(Bug::kLookupBucketwise)) return LookupBucketwise(key, value);
  StripeGuard guard(Has(Bug::kLookupUnlocked) ? nullptr : locks_.get());
  LockBuckets(key, &guard);
  const Place place = Find(key);
  if (!place.found()) return POWERCUT_NOT_FOUND;
  std::memcpy(value, SlotAt(place) + geometry_.key_size, geometry_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::cuckoo
