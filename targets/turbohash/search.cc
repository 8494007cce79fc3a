// The search path (3.2) and the searches on this path (3.4, Algorithms 1 and 4).
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

Home Table::HomeOf(Bytes key) const {
  Home home;
  home.hash = hashes_.Of(key.data, key.size);
  home.shard = hashes_.ShardOf(home.hash);
  home.tag = hashes_.TagOf(home.hash);
  if (options_.pointer) {
    home.word = home.hash;
  } else {
    key.CopyTo(&home.word);
  }
  return home;
}

Path Table::Find(const Home& home, Bytes key) const {
  const Shard shard = shards_[home.shard];
  Path path;
  for (uint64_t d = 0; d < Scope(shard); ++d) {
    Bucket* bucket = Probed(shard, home, d);
    const Meta meta = MetaOf(bucket);
    ++path.distance;
    for (uint32_t rest = Matches(bucket, meta, home); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      if (!Holds(bucket->slots[slot], home, key)) continue;
      path.found = bucket;
      path.slot = slot;
      return path;
    }
    if (meta.deleted != 0 && (path.deleted == nullptr || options_.last_deleted)) path.deleted = bucket;
    if (meta.ends_path()) {
      path.end = bucket;
      return path;
    }
  }
  return path;
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  if (gates_ != nullptr) return LookupBesideWriters(key, value);
  const Path path = Find(HomeOf(key), key);
  if (path.found == nullptr) return POWERCUT_NOT_FOUND;
  value->Put(ValueOf(path.found->slots[path.slot]));
  return POWERCUT_OK;
}

}  // namespace powercut::turbohash
