// FliT (Wei, Ben-David, Friedman, Blelloch, Petrank, PPoPP 2022): every link is a p-word, and a counter says whether
// somebody has stored to it and not yet made that durable. The counters are volatile, and words share them by hash.
#include <new>

#include "targets/common/hash.h"
#include "targets/constructions/construction.h"

namespace powercut::constructions {
namespace {

class Flit final : public Construction {
 public:
  explicit Flit(Bug bug) : bug_(bug) {}

  // p-load. The counter comes second: a value that was there before it was 0 is durable.
  Link Load(Link* link) override {
    const Link word = pmem::atomic_load(link);
    if (bug_ != Bug::kCounterIgnored && pmem::atomic_load(CounterOf(link)) != 0) pmem::flush(link, sizeof *link);
    return word;
  }

  // p-CAS. The locked instructions make the loaded values durable before the new value is visible, and the new value
  // durable before the counter is 0 again.
  bool Swap(Link* link, Link expected, Link desired) override {
    uint32_t* counter = CounterOf(link);
    if (bug_ != Bug::kCounterRaisedLate) Raise(counter);
    const bool is_swapped = CompareAndSwap(link, expected, desired);
    if (bug_ == Bug::kCounterRaisedLate) Raise(counter);
    if (bug_ == Bug::kCounterLoweredEarly) Lower(counter);
    if (is_swapped) pmem::flush(link, sizeof *link);
    if (bug_ != Bug::kCounterLoweredEarly) Lower(counter);
    return is_swapped;
  }

  void End() override {
    if (bug_ != Bug::kLoadsNotFenced) pmem::fence();
  }

 private:
  static constexpr int kCountersLog2 = 6;

  uint32_t* CounterOf(const Link* link) {
    return &counters_[Mix(reinterpret_cast<uintptr_t>(link)) >> (64 - kCountersLog2)];
  }
  static void Raise(uint32_t* counter) { __atomic_fetch_add(counter, uint32_t{1}, __ATOMIC_ACQ_REL); }
  static void Lower(uint32_t* counter) { __atomic_fetch_sub(counter, uint32_t{1}, __ATOMIC_ACQ_REL); }

  const Bug bug_;
  uint32_t counters_[1 << kCountersLog2] = {};
};

}  // namespace

Construction* CreateFlit(Bug bug) { return new (std::nothrow) Flit(bug); }

}  // namespace powercut::constructions
