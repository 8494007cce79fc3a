// The part of the target ABI that both tables of the paper share: options of segments, recovery and threads, and
// traits. Each table's target.cc has the rest.
#ifndef POWERCUT_TARGETS_DASH_SHARED_TARGET_H_
#define POWERCUT_TARGETS_DASH_SHARED_TARGET_H_

#include "targets/common/scheme_target.h"

namespace powercut::dash {

template <typename Options>
struct SharedOptions {
  using Line = Option<Options>;
  static constexpr Line kItems = {
      "items=inline|pointer: a record holds key and value of 8 bytes, or a pointer to an item with both, of any size",
      Flag<&Options::pointers, "pointer">()};
  static constexpr Line kBuckets = {
      "buckets=4|8|16|64|...: normal buckets of a segment, a power of two (the authors' code: 64)",
      PowerOfTwo<&Options::buckets>(4, 64)};
  static constexpr Line kSlots = {"slots=14|4|2|...: slots of a bucket that are used; a bucket of 256 bytes has 14",
                                  Number<&Options::slots>(1, 14)};
  static constexpr Line kBalance = {
      "balance=on|off: insert into the less loaded of two buckets, or into the first one that has room",
      Switch<&Options::balance>()};
  static constexpr Line kDisplacement = {
      "displacement=on|off: move a record to its other bucket where both buckets are full",
      Switch<&Options::displacement>()};
  static constexpr Line kFingerprints = {"fingerprints=on|off: compare keys only where the fingerprint agrees",
                                         Switch<&Options::fingerprints>()};
  static constexpr Line kRecovery = {
      "recovery=lazy|eager: recover a segment when an operation first writes to it, or all of them at open",
      Flag<&Options::eager, "eager">()};
  static constexpr Line kVersions = {
      "versions=255|1|2|...: largest global version; after it every segment's version is reset",
      Number<&Options::versions>(1, 255)};
  static constexpr Line kConcurrency = {
      "concurrency=single|concurrent: one thread at a time, or threads that lock buckets and read them without a lock",
      Flag<&Options::concurrent, "concurrent">()};
};

// `citation`: where the authors' code leaves duplicates. `one_thread`: a note on the table with one thread.
template <typename Options>
void SharedTraits(const Options& options, const char* citation, const char* one_thread, powercut_traits* out) {
  out->checks_exists = 1;
  if (!options.pointers) out->mixed_sizes = out->most_key_size = out->most_value_size = 0;
  // An eager open recovers every segment, so that no duplicate is left.
  if (!options.eager) {
    out->copy_bound = 2;
    out->copy_citation = citation;
  }
  out->thread_safe = options.concurrent ? 1 : 0;
  out->notes = !options.concurrent ? one_thread
               : options.hardened
                   ? "bucket locks, in the pool, held until a change is durable; lookups check versions"
                   : "bucket locks, in the pool, released before a change is durable; lookups check versions";
  // format writes no bucket and, of the allocator, neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_SHARED_TARGET_H_
