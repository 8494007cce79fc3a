// The threads of one open table (concurrency=concurrent; README.md, "Threads"). The state of this file is volatile.
//
// Epochs. Each thread has a word that says whether the thread is at work, and how often it was before. An unreached
// block is freed when every thread that was at work at the unlinking has left since. Nobody waits for these threads,
// except a thread that begins an operation with no room to hold more blocks back.
//
// Insertions. Two insertions of one key may take slots far from each other, and no CAS covers both. An insertion
// therefore takes a slot tentatively, and is then decided while it holds the stripe of its key. The insertion counts if
// the key is absent; the CAS of its own slot then makes the item live. A stripe is no lock: a thread that finds the
// stripe taken first decides the insertion that holds it.
#ifndef POWERCUT_TARGETS_CLEVEL_CONCURRENT_THREADS_H_
#define POWERCUT_TARGETS_CLEVEL_CONCURRENT_THREADS_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/clevel/layout.h"
#include "targets/common/known_by_stack.h"

namespace powercut::clevel {

class Threads {
 public:
  // `home` lies on the stack of the thread that opens the table.
  Threads(const View& view, const void* home) : known_(home) {
    for (uint32_t id = 0; id < kAllThreads; ++id) {
      threads_[id].id = id;
      threads_[id].view = view;
    }
  }

  // ---- epochs ----

  // The record of a client that is at work from now on. Waits while all are taken.
  Thread* EnterClient(const void* stack) {
    const uint32_t wish = known_.Among(kClients, stack);
    for (;;) {
      for (uint32_t i = 0; i < kClients; ++i) {
        Thread* thread = EnterAs((wish + i) % kClients);
        if (thread != nullptr) return thread;
      }
      pmem::pause();
    }
  }
  // Null: somebody else has this record.
  Thread* EnterAs(uint32_t id) {
    uint64_t epoch = pmem::atomic_load(&epochs_[id]);
    // Sequentially consistent: either we see that a block was unlinked, or its thread sees that we are at work.
    if ((epoch & kState) != kFree || !__atomic_compare_exchange_n(&epochs_[id], &epoch, epoch + kWorking, false,
                                                                  __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
      return nullptr;
    }
    return &threads_[id];
  }
  void Leave(const Thread& thread) { SetState(thread.id, kNextEpoch | kFree); }
  // The thread keeps its record, and nobody waits for the thread.
  void Rest(const Thread& thread) { SetState(thread.id, kNextEpoch | kResting); }
  void GoOn(const Thread& thread) {
    __atomic_exchange_n(&epochs_[thread.id], EpochOf(thread.id) | kWorking, __ATOMIC_SEQ_CST);
  }

  // Notes which other threads are at work: they may still read the blocks that this thread has unlinked.
  void Snapshot(Thread* thread) const {
    for (uint32_t id = 0; id < kAllThreads; ++id) {
      const uint64_t epoch = id == thread->id ? 0 : __atomic_load_n(&epochs_[id], __ATOMIC_SEQ_CST);
      thread->seen[id] = (epoch & kState) == kWorking ? epoch : 0;
    }
  }
  bool HaveLeft(const Thread& thread) const {
    for (uint32_t id = 0; id < kAllThreads; ++id) {
      if (thread.seen[id] != 0 && pmem::atomic_load(&epochs_[id]) == thread.seen[id]) return false;
    }
    return true;
  }

  const View& view_of(uint32_t id) const { return threads_[id].view; }

  // ---- insertions ----

  uint64_t* StripeOf(const Probe& probe) { return &stripes_[probe.hash[1] >> 58]; }

  // Returns the ticket that stands in the stripe while the insertion is decided. No other insertion ever has the same
  // ticket.
  uint64_t Announce(uint32_t id, uint64_t* slot, uint64_t word) {
    Insertion& mine = insertions_[id];
    pmem::atomic_store(&mine.slot, slot);
    pmem::atomic_store(&mine.word, word);
    return ++mine.tickets * kAllThreads + id;
  }
  // Holds as long as the ticket is still in its stripe afterwards.
  void Read(uint64_t ticket, uint64_t** slot, uint64_t* word) const {
    const Insertion& theirs = insertions_[ticket % kAllThreads];
    *slot = pmem::atomic_load(&theirs.slot);
    *word = pmem::atomic_load(&theirs.word);
  }

 private:
  static constexpr uint64_t kState = 3;
  static constexpr uint64_t kFree = 0, kWorking = 1, kResting = 2;
  static constexpr uint64_t kNextEpoch = 4;

  struct Insertion {
    uint64_t* slot = nullptr;
    uint64_t word = 0;
    uint64_t tickets = 0;  // of this thread alone
  };

  uint64_t EpochOf(uint32_t id) const { return pmem::atomic_load(&epochs_[id]) & ~kState; }
  void SetState(uint32_t id, uint64_t state) { pmem::atomic_store(&epochs_[id], EpochOf(id) + state); }

  KnownByStack known_;  // a thread comes back to its own record, arena and lines, which no other thread touches then
  uint64_t epochs_[kAllThreads] = {};
  uint64_t stripes_[64] = {};
  Insertion insertions_[kAllThreads];
  Thread threads_[kAllThreads];
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_CONCURRENT_THREADS_H_
