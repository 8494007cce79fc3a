// NVTraverse (Friedman, Ben-David, Wei, Blelloch, Petrank, PLDI 2020): a search flushes nothing. When the traversal has
// come to its place, the link that leads there (ensureReachable) and the returned nodes (makePersistent) are flushed.
// From there on every link that is changed is flushed, with a fence before each change and before the return.
#include <new>

#include "targets/constructions/construction.h"

namespace powercut::constructions {
namespace {

class Nvtraverse final : public Construction {
 public:
  explicit Nvtraverse(Bug bug) : bug_(bug) {}

  Link Load(Link* link) override { return pmem::atomic_load(link); }

  void RestOn(Role role, const Link* link) override {
    if (role == Role::kParent && bug_ == Bug::kParentNotFlushed) return;
    if (role == Role::kLeft && bug_ == Bug::kLeftNotFlushed) return;
    if (role == Role::kErased && bug_ == Bug::kErasedNotFlushed) return;
    pmem::flush(link, sizeof *link);
  }

  // The locked instruction is the fence before the change.
  bool Swap(Link* link, Link expected, Link desired) override {
    if (!CompareAndSwap(link, expected, desired)) return false;
    pmem::flush(link, sizeof *link);
    return true;
  }

  void End() override {
    if (bug_ != Bug::kReturnNotFenced) pmem::fence();
  }

 private:
  const Bug bug_;
};

}  // namespace

Construction* CreateNvtraverse(Bug bug) { return new (std::nothrow) Nvtraverse(bug); }

}  // namespace powercut::constructions
