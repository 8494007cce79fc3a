// Format and open. Recovery (3.3) reads metadata only: the context, the level list, and the persistent buffers with the
// blocks that they name. The rehashing thread goes on where the index says, after open.
#include <initializer_list>
#include <new>
#include <utility>

#include "targets/clevel/table.h"

namespace powercut::clevel {

// The pool is zeroed, as the traits demand: buffers are empty, no bucket was rehashed.
powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < RootBytes(options) + 4 * Allocator::kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  Root* root = table.root();
  Buffer& words = root->buffers[0];
  table.allocator_.Format();
  root->geometry = table.GeometryWord();
  const auto make_level = [&](uint64_t* owner, uint64_t log2, uint64_t up) {
    const uint64_t offset = table.allocator_.AllocateInto(owner, table.LevelBytes(log2));
    if (offset == 0) return offset;
    auto* header = table.At<LevelHeader>(offset);
    header->log2 = log2;
    header->up = up;
    pmem::persist(header, sizeof *header);
    return offset;
  };
  const uint64_t first = make_level(&words.level, options.first_log2, 0);
  const uint64_t last = first == 0 ? 0 : make_level(&words.old_level, options.first_log2 - 1u, first);
  const uint64_t offset = last == 0 ? 0 : table.allocator_.AllocateInto(&words.context, sizeof(Context));
  if (offset == 0) return POWERCUT_FULL;
  auto* context = table.At<Context>(offset);
  *context = {first, last, 0};
  pmem::persist(context, sizeof *context);
  pmem::atomic_store(&root->context, offset);
  pmem::persist(&root->context, sizeof(uint64_t));
  words = {};
  pmem::persist(&words, sizeof words);
  pmem::atomic_store(&root->magic, kMagic);
  pmem::persist(root, pmem::kLine);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < RootBytes(options) + 4 * Allocator::kUnit) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  const Root* root = opening.root();
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root->geometry != opening.GeometryWord() || !opening.allocator_.Matches()) return POWERCUT_CORRUPT;
  if (!opening.Attach(root->context, &opening.worker_.view)) return POWERCUT_CORRUPT;
  opening.worker_.view.is_durable = true;
  opening.rehasher_.view = opening.worker_.view;
  if (!opening.Has(Bug::kBuffersNotScanned)) opening.ReleaseBuffers();
  if (options.concurrent) {
    opening.threads_.reset(new (std::nothrow) Threads(opening.worker_.view, &opening));
    if (opening.threads_ == nullptr) return POWERCUT_FULL;
  }
  *out = new (std::nothrow) Table(std::move(opening));
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

void Table::ReleaseBuffers() {
  if (options_.concurrent) {
    ReleaseLines();
    return;
  }
  for (Buffer& words : root()->buffers) {
    const uint64_t named =
        words.item | words.level | words.context | words.old_item | words.old_level | words.old_context;
    if (named != 0) ReleaseBuffer(&words);
  }
}

// Settles an item that a cut operation has published while another thread rehashed. An insertion that was to be redone
// may have left the item in a bucket that the index has passed; the item would be lost with its level. An update that
// was to look again may have left the item beside a copy of the item that it replaces.
void Table::SettleItem(uint64_t item) {
  const Bytes key = KeyOf(item);
  const Probe probe(key);
  const View& view = worker_.view;
  const Place lowest = FindOne(&worker_, key, probe);
  if (!view.is_resizing || lowest.level != 0 || lowest.bucket >= root()->rehashed) return;
  pmem::mark("recover.undone");
  ClearSlot(lowest.slot);
}

// "We scan the persistent buffers and release the unused memory": what is named here and not reached by the table.
// Freed first, forgotten next: a cut in between does it again.
void Table::ReleaseBuffer(Buffer* words) {
  pmem::mark("recover.buffer");
  if (options_.hardened && ReachesItem(words->item)) SettleItem(words->item);
  const auto release = [&](uint64_t offset, bool reached) {
    if (allocator_.BytesOf(offset) == 0 || reached) return;
    pmem::mark("recover.released");
    allocator_.Free(offset);
  };
  for (const uint64_t item : {words->item, words->old_item}) release(item, ReachesItem(item));
  for (const uint64_t level : {words->level, words->old_level}) release(level, ReachesLevel(level));
  for (const uint64_t context : {words->context, words->old_context})
    release(context, context == OffsetIn(root()->context));
  *words = {};
  pmem::persist(words, sizeof *words);
}

}  // namespace powercut::clevel
