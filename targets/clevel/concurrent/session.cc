// An operation and its thread: the record of the thread, the calls of the operation, and when the unlinked blocks are
// freed.
#include "targets/clevel/table.h"

namespace powercut::clevel {

// With one thread the record is always the worker's, and there is nothing to wait for.
class Table::Session {
 public:
  explicit Session(Table* table) : table_(table), thread_(table->threads_ ? Enter(table) : &table->worker_) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (table_->threads_) table_->threads_->Leave(*thread_);
  }

  Thread* thread() const { return thread_; }
  // Ends the operation and returns its answer; CORRUPT if a block was freed twice.
  powercut_status Ended(powercut_status status) const {
    if (table_->threads_ && thread_->retired >= table_->options_.reclaim) table_->Reclaim(thread_);
    return thread_->freed_twice ? POWERCUT_CORRUPT : status;
  }

 private:
  // Most blocks that one operation unlinks, an expansion beyond that aside (CanRetire).
  static constexpr uint32_t kMostUnlinked = 4;

  static Thread* Enter(Table* table) {
    const int here = 0;
    Thread* thread = table->threads_->EnterClient(&here);
    while (!table->CanRetire(*thread, kMostUnlinked)) {
      // Outside of its epoch: two threads that waited inside of theirs would wait for each other.
      table->threads_->Rest(*thread);
      while (!table->threads_->HaveLeft(*thread)) pmem::pause();
      table->threads_->GoOn(*thread);
      table->Reclaim(thread);
    }
    return thread;
  }

  Table* table_;
  Thread* thread_;
};

powercut_status Table::Insert(Bytes key, Bytes value) {
  const Session session(this);
  return session.Ended(MarksSlots() ? InsertMarked(session.thread(), key, value)
                                    : InsertIn(session.thread(), key, value));
}

powercut_status Table::Update(Bytes key, Bytes value) {
  const Session session(this);
  return session.Ended(MarksSlots() ? UpdateMarked(session.thread(), key, value)
                                    : UpdateIn(session.thread(), key, value));
}

powercut_status Table::Erase(Bytes key) {
  const Session session(this);
  return session.Ended(MarksSlots() ? EraseMarked(session.thread(), key) : EraseIn(session.thread(), key));
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const Session session(this);
  return MarksSlots() ? LookupMarked(session.thread(), key, value) : LookupIn(session.thread(), key, value);
}

powercut_status Table::Maintain(const char* command) {
  const Session session(this);
  if (!options_.concurrent || std::strcmp(command, "rehash") != 0) {
    return session.Ended(MaintainIn(session.thread(), command));
  }
  for (uint32_t number = 0; number < strides(); ++number) {
    // The holder of a rehashing thread's record also has that thread's buckets. The context view of the record is not
    // used: the session's thread has its own view.
    const Thread* rehasher = threads_->EnterAs(kClients + number);
    if (rehasher == nullptr) continue;
    RehashNext(session.thread(), number);
    threads_->Leave(*rehasher);
  }
  return session.Ended(POWERCUT_OK);
}

powercut_status Table::RehashNext(Thread* thread, uint32_t number) {
  return MarksSlots() ? MoveBucket(thread, number) : RehashBucket(thread, number);
}

// Nothing is stored before there is something to do.
powercut_status Table::Work(uint32_t number) {
  if (IsRehasherDone(number)) return POWERCUT_NOT_FOUND;
  Thread* thread = threads_->EnterAs(kClients + number);
  if (thread == nullptr) return POWERCUT_NOT_FOUND;
  const powercut_status status = RehashNext(thread, number);
  if (thread->retired >= options_.reclaim) Reclaim(thread);
  const bool is_damaged = thread->freed_twice;
  threads_->Leave(*thread);
  if (is_damaged) return POWERCUT_CORRUPT;
  // For want of room it tries again when others have changed something.
  return status == POWERCUT_OK ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

// By what the thread knows of the context that is the global one still. Buckets are counted, and no level is looked at.
bool Table::IsRehasherDone(uint32_t number) const {
  const View& view = threads_->view_of(kClients + number);
  if (view.context != pmem::atomic_load(&root()->context)) return false;
  if (!view.is_resizing) return true;
  return IsDone(number, view.last()) && !AreAllDone(view.last());
}

void Table::FreeItem(Thread* thread, uint64_t item) {
  if (!options_.concurrent) {
    allocator_.Free(item);
  } else if (!options_.hardened || Has(Bug::kFreedAtOnce)) {
    // The paper does not say how a reader is protected; its released code frees items like this.
    if (!allocator_.FreeOnce(item, thread->id)) thread->freed_twice = true;
  } else {
    ++thread->retired;
  }
}

void Table::NameRetired(const Thread& thread, uint32_t i, uint64_t block) {
  uint64_t* word = &lines(thread.id).retired[thread.retired + i];
  pmem::atomic_store(word, block);
  pmem::flush(word, sizeof *word);
}

// The first `count` of them.
void Table::FreeRetired(Thread* thread, uint32_t count) {
  if (count == 0) return;
  ThreadLines& mine = lines(thread->id);
  for (uint32_t i = 0; i < count; ++i) {
    pmem::mark("reclaim.freed");
    if (!allocator_.FreeOnce(mine.retired[i], thread->id)) thread->freed_twice = true;
  }
  // The last ones take the freed places; their own stay as they were, so that they are named at every moment.
  const uint32_t left = thread->retired - count;
  for (uint32_t i = 0; i < count && i < left; ++i) {
    pmem::atomic_store(&mine.retired[i], mine.retired[thread->retired - 1 - i]);
  }
  thread->retired = left;
  pmem::persist(mine.retired, sizeof mine.retired);
}

void Table::Reclaim(Thread* thread) {
  if (thread->waiting != 0 && threads_->HaveLeft(*thread)) {
    FreeRetired(thread, thread->waiting);
    thread->waiting = 0;
  }
  if (thread->waiting != 0 || thread->retired == 0) return;
  threads_->Snapshot(thread);
  thread->waiting = thread->retired;
  if (!threads_->HaveLeft(*thread)) return;
  FreeRetired(thread, thread->waiting);
  thread->waiting = 0;
}

bool Table::IsRetired(uint64_t offset) const {
  for (uint32_t id = 0; id < kAllThreads; ++id) {
    for (const uint64_t block : lines(id).retired) {
      if (block == offset) return true;
    }
  }
  return false;
}

}  // namespace powercut::clevel
