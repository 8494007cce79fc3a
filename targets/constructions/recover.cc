// Format and open. Recovery has no log: it takes erased nodes out of their lists, clears marks, and finds the nodes
// that are free. A node is erased for good once its link says so durably, whether it is still in the list or not.
#include <new>
#include <utility>

#include "targets/constructions/table.h"

namespace powercut::constructions {
namespace {

Construction* Create(const Options& options) {
  switch (options.construction) {
    case Kind::kFlit:
      return CreateFlit(options.bug);
    case Kind::kLinkAndPersist:
      return CreateLinkAndPersist(options.bug);
    case Kind::kNvtraverse:
    case Kind::kCount:
      break;
  }
  return CreateNvtraverse(options.bug);
}

}  // namespace

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  if (table.nodes_.count() == 0) return POWERCUT_FULL;
  for (uint64_t region = 0; region < options.buckets; ++region) pmem::atomic_store(table.Head(region), Link{0});
  pmem::atomic_store(&table.root()->buckets, uint64_t{options.buckets});
  pmem::persist(table.root(), NodesBegin(options.buckets));
  pmem::atomic_store(&table.root()->magic, kMagic);
  pmem::persist(&table.root()->magic, sizeof kMagic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table opening(pool, options);
  if (opening.nodes_.count() == 0 || opening.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (opening.root()->buckets != options.buckets) return POWERCUT_CORRUPT;
  const powercut_status status = opening.Recover();
  if (status != POWERCUT_OK) return status;
  opening.construction_.reset(Create(options));
  if (opening.construction_ == nullptr) return POWERCUT_FULL;
  *out = new (std::nothrow) Table(std::move(opening));
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Recover() {
  if (!nodes_.Clear()) return POWERCUT_FULL;
  for (uint64_t region = 0; region < options_.buckets; ++region) {
    if (!RecoverList(Head(region))) return POWERCUT_CORRUPT;
  }
  return POWERCUT_OK;
}

// False: what it finds is no list.
bool Table::RecoverList(Link* link) {
  uint64_t passed = 0;
  for (;;) {
    const Link before = pmem::atomic_load(link);
    Link after = before & ~kMarks;
    while (after != 0) {
      if (!nodes_.Contains(after) || ++passed > nodes_.count()) return false;
      const Link next = pmem::atomic_load(&nodes_.At(after)->next);
      if ((next & kErased) == 0) break;
      pmem::mark("open.erased");
      after = next & ~kMarks;
    }
    if (after != before) {
      pmem::atomic_store(link, after);
      pmem::persist(link, sizeof *link);
    }
    if (after == 0) return true;
    if (!nodes_.Hold(after)) return false;
    link = &nodes_.At(after)->next;
  }
}

}  // namespace powercut::constructions
