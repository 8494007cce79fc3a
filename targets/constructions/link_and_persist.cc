// Link-and-persist (David, Dragojević, Guerraoui, Zablotchi: "Log-Free Concurrent Data Structures", USENIX ATC 2018): a
// link is marked when it is swapped in, and the mark is cleared when it is durable. A thread that meets a marked link
// makes the link durable before it acts on the link. A mark that a power cut leaves is cleared by open.
#include <new>

#include "targets/constructions/construction.h"

namespace powercut::constructions {
namespace {

class LinkAndPersist final : public Construction {
 public:
  explicit LinkAndPersist(Bug bug) : bug_(bug) {}

  Link Load(Link* link) override {
    const Link word = pmem::atomic_load(link);
    if ((word & kUnflushed) != 0 && bug_ != Bug::kMarkIgnored) Persist(link, word, bug_ == Bug::kMarkCleared);
    return word & ~kUnflushed;
  }

  // `expected` bears no mark, so nobody builds on a link that is not durable.
  bool Swap(Link* link, Link expected, Link desired) override {
    const bool is_swapped =
        CompareAndSwap(link, expected, desired | kUnflushed) ||
        (bug_ == Bug::kMarkIgnored && CompareAndSwap(link, expected | kUnflushed, desired | kUnflushed));
    if (!is_swapped) return false;
    Persist(link, desired | kUnflushed, bug_ == Bug::kMarkClearedEarly);
    if (bug_ == Bug::kMarkClearedEarly) pmem::persist(link, sizeof *link);
    return true;
  }

  // Links are durable as they are met or swapped.
  void End() override {}

 private:
  // The compare-and-swap fences the flush before the mark is gone. Where it fails, somebody else has cleared the mark,
  // or has swapped the link, which he did not do before.
  static void Persist(Link* link, Link word, bool only_clear) {
    if (!only_clear) pmem::flush(link, sizeof *link);
    CompareAndSwap(link, word, word & ~kUnflushed);
  }

  const Bug bug_;
};

}  // namespace

Construction* CreateLinkAndPersist(Bug bug) { return new (std::nothrow) LinkAndPersist(bug); }

}  // namespace powercut::constructions
