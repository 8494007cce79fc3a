// The global context: copy-on-write and CAS (3.1.2), and a thread's copy of its pointer.
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

const View& Table::Load(Thread* thread, bool writes) {
  View& view = thread->view;
  const uint64_t context = pmem::atomic_load(&root()->context);
  if (context != view.context) {
    Attach(context, &view);
    view.is_durable = false;
  }
  // A context that this thread has made durable stays durable: one flush for each change of the context is enough.
  if (writes && !view.is_durable && !Has(Bug::kContextNotHelped)) {
    pmem::mark("context.helped");
    pmem::persist(&root()->context, sizeof(uint64_t));
    view.is_durable = true;
  }
  return view;
}

bool Table::AttachLevel(uint64_t offset, Level* level) const {
  const uint64_t bytes = allocator_.BytesOf(offset);
  if (bytes < sizeof(LevelHeader)) return false;
  auto* header = At<LevelHeader>(offset);
  if (header->log2 >= 40 || bytes < LevelBytes(header->log2)) return false;
  *level = {.offset = offset,
            .header = header,
            .slots = reinterpret_cast<uint64_t*>(header + 1),
            .mask = (uint64_t{1} << header->log2) - 1};
  return true;
}

bool Table::Attach(uint64_t context, View* view) const {
  if (allocator_.BytesOf(OffsetIn(context)) < sizeof(Context)) return false;
  const Context& now = *At<Context>(OffsetIn(context));
  view->context = context;
  view->is_resizing = now.is_resizing != 0;
  view->count = 0;
  for (uint64_t at = now.last; view->count < kMaxLevels; at = pmem::atomic_load(&view->first().header->up)) {
    if (!AttachLevel(at, &view->levels[view->count])) return false;
    ++view->count;
    if (at == now.first) return view->count >= 2;
  }
  return false;
}

Table::Published Table::Publish(Thread* thread, const Context& next, uint64_t old_level, bool paused) {
  // The operation may have an item to hold back as well.
  if (!CanRetire(*thread, old_level == 0 ? 2 : 3)) return Published::kNoRoom;
  Buffer& words = buffer(*thread);
  const uint64_t old_word = thread->view.context, old_context = OffsetIn(old_word);
  DO_IF (Bug::kContextInPlace) return PublishInPlace(thread, next, old_level);
  const uint64_t offset = allocator_.AllocateInto(&words.context, sizeof(Context), ArenaOf(*thread));
  if (offset == 0) return Published::kNoRoom;
  auto* context = At<Context>(offset);
  *context = next;
  SKIP_IF (Bug::kContextUnordered) pmem::persist(context, sizeof *context);
  if (options_.concurrent) {
    NameRetired(*thread, 0, old_context);
    if (old_level != 0) NameRetired(*thread, 1, old_level);
    pmem::fence();
  } else {
    pmem::atomic_store(&words.old_context, old_context);
    if (old_level != 0) pmem::atomic_store(&words.old_level, old_level);
    pmem::persist(&words, sizeof words);
  }
  const uint64_t version = ((old_word >> kOffsetBits) + 1) & ((uint64_t{1} << options_.version_bits) - 1);
  const uint64_t word = version << kOffsetBits | offset;
  uint64_t expected = old_word;
  if (!__atomic_compare_exchange_n(&root()->context, &expected, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    pmem::mark("context.overtaken");
    allocator_.Free(offset, ArenaOf(*thread));
    return Published::kOvertaken;
  }
  pmem::mark("context.swapped");
  Attach(word, &thread->view);
  if (paused) {
    paused_context_ = old_context;
    return Published::kYes;
  }
  pmem::persist(&root()->context, sizeof(uint64_t));
  thread->view.is_durable = true;
  DO_IF (Bug::kContextUnordered) pmem::persist(context, sizeof *context);
  EndPublication(thread, old_context, old_level);
  return Published::kYes;
}

void Table::EndPublication(Thread* thread, uint64_t old_context, uint64_t old_level) {
  if (options_.concurrent) {
    thread->retired += old_level == 0 ? 1 : 2;
    return;
  }
  allocator_.Free(old_context);
  if (old_level != 0) allocator_.Free(old_level);
  Buffer& words = buffer(*thread);
  pmem::atomic_store(&words.context, uint64_t{0});
  pmem::atomic_store(&words.old_context, uint64_t{0});
  if (words.old_level != 0) pmem::atomic_store(&words.old_level, uint64_t{0});
  pmem::persist(&words, sizeof words);
}

void Table::ChangeInPlace(const Context& next) {
  auto* now = At<Context>(OffsetIn(root()->context));
  const auto change = [](uint64_t* word, uint64_t value) {
    if (*word == value) return;
    pmem::atomic_store(word, value);
    pmem::persist(word, sizeof *word);
  };
  change(&now->first, next.first);
  change(&now->last, next.last);
  change(&now->is_resizing, next.is_resizing);
}

Table::Published Table::PublishInPlace(Thread* thread, const Context& next, uint64_t old_level) {
  const uint64_t old_word = thread->view.context;
  ChangeInPlace(next);
  if (old_level != 0) allocator_.Free(old_level);
  return Attach(old_word, &thread->view) ? Published::kYes : Published::kNoRoom;
}

}  // namespace powercut::clevel
