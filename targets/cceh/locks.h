// Locks of the threads of one open table (concurrency=concurrent; README.md, "Threads"). These locks are volatile: no
// power cut leaves a lock held. The locks of segments lie in the pool, as in the authors' code.
//
// Order. A segment before the directory, both before the allocator's lock. Who shares the directory may wait for a
// segment, but only as long as nobody wants the directory alone.
#ifndef POWERCUT_TARGETS_CCEH_LOCKS_H_
#define POWERCUT_TARGETS_CCEH_LOCKS_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/spin_guard.h"

namespace powercut::cceh {

template <typename Word>
bool CompareExchange(Word* word, Word expected, Word desired) {
  return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// A reader/writer lock. A waiting writer goes before readers that come later.
class DirectoryLock {
 public:
  void Share() {
    for (;;) {
      const uint64_t seen = pmem::atomic_load(&word_);
      if ((seen & kAlone) != 0) {
        pmem::pause();
      } else if (CompareExchange(&word_, seen, seen + 1)) {
        return;
      }
    }
  }
  void Unshare() { __atomic_fetch_sub(&word_, uint64_t{1}, __ATOMIC_RELEASE); }
  // Does somebody want it alone?
  bool Wanted() const { return (pmem::atomic_load(&word_) & kAlone) != 0; }

  void Lock() {
    for (;;) {
      const uint64_t seen = pmem::atomic_load(&word_);
      if ((seen & kAlone) != 0) {
        pmem::pause();
      } else if (CompareExchange(&word_, seen, seen | kAlone)) {
        break;
      }
    }
    while (pmem::atomic_load(&word_) != kAlone) pmem::pause();
  }
  void Unlock() { pmem::atomic_store(&word_, uint64_t{0}); }

 private:
  static constexpr uint64_t kAlone = uint64_t{1} << 63;
  uint64_t word_ = 0;  // kAlone, and how many share it
};

struct Locks {
  DirectoryLock directory;  // `published` has the authors', in the directory itself
  uint8_t reserved = 0;     // of the items with reserved keys
  uint8_t allocator = 0;
  uint8_t log = 0;  // of items=transaction; held for a transaction, and inside it the allocator's
};

}  // namespace powercut::cceh
#endif  // POWERCUT_TARGETS_CCEH_LOCKS_H_
