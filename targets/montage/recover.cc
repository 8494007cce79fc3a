// format and open.
#include <cstdio>
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/common/scheme_target.h"
#include "targets/montage/table.h"

namespace powercut::montage {
namespace {

uint64_t SizesOf(const Options& options) { return uint64_t{options.key_size} << 32 | options.value_size; }

uint64_t StrideOf(const Options& options) {
  const uint64_t bytes = sizeof(Payload) + options.key_size + options.value_size;
  return (bytes + pmem::kLine - 1) / pmem::kLine * pmem::kLine;
}

}  // namespace

Table::Table(powercut_pool pool, const Options& options)
    : pool_(pool),
      options_(options),
      stride_(StrideOf(options)),
      blocks_(pool.size < sizeof(Root) ? 0 : static_cast<uint32_t>((pool.size - sizeof(Root)) / stride_)) {
  heads_.fill(kNone);
  next_.assign(blocks_, kNone);
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(Root)) return POWERCUT_BAD_CONFIG;
  // The pool is zeroed, as the traits demand: no payload counts.
  auto* root = reinterpret_cast<Root*>(pool.base);
  root->sizes = SizesOf(options);
  root->clock = kFirstEpoch;
  pmem::persist(root, sizeof *root);
  pmem::atomic_store(&root->magic, kMagic);
  pmem::persist(&root->magic, sizeof root->magic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root)) return POWERCUT_BAD_CONFIG;
  const auto* root = reinterpret_cast<const Root*>(pool.base);
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root->sizes != SizesOf(options)) return POWERCUT_BAD_CONFIG;
  if (root->clock < kFirstEpoch) return POWERCUT_CORRUPT;
  auto* table = new Table(pool, options);
  table->Recover();
  *out = table;
  return POWERCUT_OK;
}

// Three kinds of payloads are dropped: payloads of the last two epochs, older payloads of a key, and then the erased
// payloads. Each kind is durably dropped before the next kind, so a power cut in between leaves a state that open may
// meet anyway.
void Table::Recover() {
  const uint64_t clock = root()->clock, kept = clock - (Has(Bug::kOneEpoch) ? 1 : 2);
  std::vector<uint32_t> discarded, covered, erased;
  for (uint32_t block = blocks_; block-- > 0;) {
    const uint64_t epoch = At(block)->epoch;
    if (epoch == 0) {
      free_.push_back(block);
    } else if (epoch > kept) {
      discarded.push_back(block);
    } else {
      const Bytes key = At(block)->item.key();
      const uint64_t bucket = BucketOf(key);
      const uint32_t known = Find(bucket, key);
      if (known != kNone && At(known)->epoch > epoch) {
        covered.push_back(block);
        continue;
      }
      if (known != kNone) {
        Unlink(bucket, known);
        covered.push_back(known);
      }
      Link(bucket, block);
    }
  }
  SKIP_IF (Bug::kDiscardedKept) Drop(discarded);
  for (uint64_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (uint32_t at = heads_[bucket]; at != kNone; at = next_[at]) {
      if (At(at)->kind == Kind::kErased) {
        erased.push_back(at);
      } else {
        ++items_;
      }
    }
  }
  for (const uint32_t block : erased) Unlink(BucketOf(At(block)->item.key()), block);
  DO_IF (Bug::kTombEarly) std::swap(erased, covered);
  Drop(covered);
  Drop(erased);
}

powercut_status Table::Verify(uint64_t, char* message, size_t size) {
  for (uint64_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (uint32_t at = heads_[bucket]; at != kNone; at = next_[at]) {
      const Payload& payload = *At(at);
      if (payload.kind != Kind::kItem) return Broken(message, size, "payload %u is no item", at);
      if (payload.epoch > root()->clock) return Broken(message, size, "payload %u is of an epoch to come", at);
      if (BucketOf(payload.item.key()) != bucket) return Broken(message, size, "payload %u is in another bucket", at);
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::montage
