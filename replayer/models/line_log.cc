#include "replayer/models/line_log.h"

#include <algorithm>
#include <bit>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "xxhash.h"

namespace powercut {
namespace {

uint64_t all_atoms(const PendingStore& store) {
  return store.atoms.size() >= 64 ? ~uint64_t{0} : (uint64_t{1} << store.atoms.size()) - 1;
}

bool overlaps(const Atom& a, const Atom& b) { return a.word == b.word && (a.bytes & b.bytes) != 0; }

}  // namespace

void Overlay::put(const Atom& atom) {
  uint8_t* to = content.bytes.data() + atom.word * 8;
  const auto* from = reinterpret_cast<const uint8_t*>(&atom.value);
  for (unsigned i = 0; i < 8; ++i) {
    if (atom.bytes >> i & 1) to[i] = from[i];
  }
  mask |= uint64_t{atom.bytes} << (atom.word * 8);
}

void Overlay::apply_to(Content* base) const {
  for (uint64_t left = mask; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    base->bytes[i] = content.bytes[i];
  }
}

void LineLog::append(uint64_t event, uint32_t thread, uint32_t stack, bool non_temporal, bool memcall, bool whole,
                     uint32_t offset, std::span<const uint8_t> bytes, AtomPolicy policy) {
  PendingStore store{
      .event = event, .thread = thread, .stack = stack, .non_temporal = non_temporal, .whole = whole, .atoms = {}};
  const bool by_byte = policy == AtomPolicy::kByte && memcall;
  for (size_t i = 0; i < bytes.size();) {
    const uint32_t at = offset + static_cast<uint32_t>(i);
    const uint32_t in_word = at % 8;
    const uint32_t length = by_byte ? 1 : std::min<uint32_t>(8 - in_word, static_cast<uint32_t>(bytes.size() - i));
    Atom atom;
    atom.word = static_cast<uint8_t>(at / 8);
    atom.bytes = static_cast<uint8_t>(((1u << length) - 1) << in_word);
    std::memcpy(reinterpret_cast<uint8_t*>(&atom.value) + in_word, bytes.data() + i, length);
    store.atoms.push_back(atom);
    i += length;
  }
  stores_.push_back(std::move(store));
}

bool LineLog::has_non_temporal() const {
  return std::any_of(stores_.begin(), stores_.end(), [](const PendingStore& s) { return s.non_temporal; });
}

void LineLog::remember(uint32_t thread) {
  for (size_t i = stores_.size(); i-- > 0;) {
    if (stores_[i].non_temporal) continue;
    for (Remembered& r : remembered_) {
      if (r.thread == thread) {
        r.event = stores_[i].event;
        return;
      }
    }
    remembered_.push_back({thread, stores_[i].event});
    return;
  }
}

bool LineLog::fence_raises(uint32_t thread) const {
  uint64_t covered = 0;
  bool has = false;
  for (const Remembered& r : remembered_) {
    if (r.thread == thread) covered = r.event, has = true;
  }
  return std::any_of(stores_.begin(), stores_.end(), [&](const PendingStore& s) {
    return s.non_temporal ? s.thread == thread : has && s.event <= covered;
  });
}

bool LineLog::settle_raises() const {
  return std::any_of(stores_.begin(), stores_.end(), [](const PendingStore& s) { return !s.non_temporal; });
}

// Adds atoms of one store to the durable set together with everything that rules (1) and (2) then require.
void LineLog::force(size_t index, uint64_t atoms, AtomPolicy policy) {
  const PendingStore& store = stores_[index];
  if (store.whole && atoms != 0) atoms = all_atoms(store);
  if (policy == AtomPolicy::kAscending && !store.non_temporal && atoms != 0) {
    atoms |= (uint64_t{1} << (63 - std::countl_zero(atoms))) - 1;  // lower addresses first
  }
  const uint64_t fresh = atoms & ~forced_[index];
  if (fresh == 0) return;
  forced_[index] |= fresh;
  if (!store.non_temporal) {
    for (size_t j = 0; j < index; ++j) {
      if (!stores_[j].non_temporal) force(j, all_atoms(stores_[j]), policy);
    }
  }
  if (!has_non_temporal()) return;  // between cacheable stores rule (1) implies rule (2)
  for (size_t a = 0; a < store.atoms.size(); ++a) {
    if (!(fresh >> a & 1)) continue;
    for (size_t j = 0; j < index; ++j) {
      for (size_t b = 0; b < stores_[j].atoms.size(); ++b) {
        if (overlaps(store.atoms[a], stores_[j].atoms[b])) force(j, uint64_t{1} << b, policy);
      }
    }
  }
}

// Moves durable atoms to the floor, in visibility order, and drops empty stores.
bool LineLog::commit(const std::vector<uint64_t>& durable) {
  bool any = false;
  size_t kept = 0;
  for (size_t i = 0; i < stores_.size(); ++i) {
    PendingStore& store = stores_[i];
    if (durable[i] != 0) {
      any = true;
      absl::InlinedVector<Atom, 2> rest;
      for (size_t a = 0; a < store.atoms.size(); ++a) {
        if (durable[i] >> a & 1) {
          floor_.put(store.atoms[a]);
        } else {
          rest.push_back(store.atoms[a]);
        }
      }
      store.atoms = std::move(rest);
    }
    if (store.atoms.empty()) continue;
    if (kept != i) stores_[kept] = std::move(store);
    ++kept;
  }
  stores_.resize(kept);
  if (stores_.empty()) remembered_.clear();
  return any;
}

bool LineLog::fence(uint32_t thread, AtomPolicy policy) {
  forced_.assign(stores_.size(), 0);
  uint64_t covered = 0;
  bool has = false;
  for (size_t i = 0; i < remembered_.size(); ++i) {
    if (remembered_[i].thread != thread) continue;
    covered = remembered_[i].event;
    has = true;
    remembered_.erase(remembered_.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  for (size_t i = 0; i < stores_.size(); ++i) {
    const PendingStore& store = stores_[i];
    const bool durable = store.non_temporal ? store.thread == thread : has && store.event <= covered;
    if (durable) force(i, all_atoms(store), policy);
  }
  return commit(forced_);
}

bool LineLog::settle_chain(AtomPolicy policy) {
  forced_.assign(stores_.size(), 0);
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (!stores_[i].non_temporal) force(i, all_atoms(stores_[i]), policy);
  }
  return commit(forced_);
}

void LineLog::settle_all() {
  std::vector<uint64_t> durable;
  for (const PendingStore& store : stores_) durable.push_back(all_atoms(store));
  commit(durable);
}

Overlay LineLog::take_floor() {
  Overlay floor = floor_;
  floor_ = Overlay{};
  return floor;
}

namespace {

// Walks the stores in visibility order and decides each: all, some or none of its atoms. Once a cacheable
// store is incomplete, the later cacheable ones are out (rule 1); an atom goes in only when the earlier
// atoms that it overlaps are in (rule 2).
class Walker {
 public:
  Walker(const std::vector<PendingStore>& stores, AtomPolicy policy,
         const std::function<bool(const Overlay&, const LineLog::Selection&)>& visit)
      : stores_(stores), policy_(policy), visit_(visit), selection_(stores.size(), 0) {}

  void run(const Overlay& floor) { step(0, true, floor); }

 private:
  bool allowed(size_t index, size_t atom) const {
    for (size_t j = 0; j < index; ++j) {
      for (size_t b = 0; b < stores_[j].atoms.size(); ++b) {
        if (!(selection_[j] >> b & 1) && overlaps(stores_[index].atoms[atom], stores_[j].atoms[b])) return false;
      }
    }
    return true;
  }

  bool step(size_t index, bool chain_open, const Overlay& so_far) {
    if (index == stores_.size()) return visit_(so_far, selection_);
    const PendingStore& store = stores_[index];
    if (!store.non_temporal && !chain_open) return step(index + 1, false, so_far);
    return choose(index, 0, chain_open, so_far);
  }

  // Decides atom `atom` of store `index`; absent before present, so that the empty set comes first.
  bool choose(size_t index, size_t atom, bool chain_open, const Overlay& so_far) {
    const PendingStore& store = stores_[index];
    if (atom == store.atoms.size()) {
      if (store.whole && selection_[index] != 0 && selection_[index] != all_atoms(store)) return true;
      const bool whole = selection_[index] == all_atoms(store);
      return step(index + 1, chain_open && (store.non_temporal || whole), so_far);
    }
    if (!choose(index, atom + 1, chain_open, so_far)) return false;
    const bool in_order =
        policy_ != AtomPolicy::kAscending || store.non_temporal || atom == 0 || (selection_[index] >> (atom - 1) & 1);
    if (!in_order || !allowed(index, atom)) return true;
    selection_[index] |= uint64_t{1} << atom;
    Overlay next = so_far;
    next.put(store.atoms[atom]);
    const bool go_on = choose(index, atom + 1, chain_open, next);
    selection_[index] &= ~(uint64_t{1} << atom);
    return go_on;
  }

  const std::vector<PendingStore>& stores_;
  const AtomPolicy policy_;
  const std::function<bool(const Overlay&, const LineLog::Selection&)>& visit_;
  LineLog::Selection selection_;
};

}  // namespace

void LineLog::for_each(AtomPolicy policy, const std::function<bool(const Overlay&, const Selection&)>& visit) const {
  Walker(stores_, policy, visit).run(floor_);
}

namespace {

void put(const Atom& atom, Content* content) {
  uint8_t* to = content->bytes.data() + atom.word * 8;
  const auto* from = reinterpret_cast<const uint8_t*>(&atom.value);
  for (unsigned i = 0; i < 8; ++i) {
    if (atom.bytes >> i & 1) to[i] = from[i];
  }
}

// The same contents as for_each() for a line without non-temporal stores, in time linear in the chain:
// after each whole prefix, the proper subsets of the next store's atoms, then that store whole.
template <typename Visit>
void chain_contents(const LineLog& log, const Content& base, AtomPolicy policy, const Visit& visit) {
  Content prefix = base;
  log.floor().apply_to(&prefix);
  if (!visit(prefix)) return;
  for (const PendingStore& store : log.stores()) {
    const size_t n = store.atoms.size();
    if (n > 1 && store.whole) {
      // All or nothing: the prefix alone, visited before, or the store whole, visited below.
    } else if (n > 1 && policy == AtomPolicy::kAscending) {
      Content partial = prefix;
      for (size_t a = 0; a + 1 < n; ++a) {
        put(store.atoms[a], &partial);
        if (!visit(partial)) return;
      }
    } else if (n > 1) {
      // Subset counter; a line has at most 64 atoms, and the limit stops the walk long before it wraps.
      const uint64_t last = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
      for (uint64_t subset = 1; subset < last; ++subset) {
        Content partial = prefix;
        for (uint64_t left = subset; left != 0; left &= left - 1) put(store.atoms[std::countr_zero(left)], &partial);
        if (!visit(partial)) return;
      }
    }
    for (const Atom& atom : store.atoms) put(atom, &prefix);
    if (!visit(prefix)) return;
  }
}

}  // namespace

CandidateSet candidates(const LineLog& log, std::span<const Content> bases, AtomPolicy policy, size_t limit) {
  CandidateSet out;
  // 64-bit hashes find equal contents; equality itself is decided on the bytes.
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 1>> seen;
  const auto add = [&](const Content& content, uint32_t base) -> uint32_t {
    auto& same = seen[XXH3_64bits(content.bytes.data(), kLineSize)];
    for (uint32_t index : same) {
      if (out.contents[index] == content) return index;
    }
    const auto index = static_cast<uint32_t>(out.contents.size());
    same.push_back(index);
    out.contents.push_back(content);
    out.base.push_back(base);
    return index;
  };
  size_t steps = 0;
  const auto full = [&] {
    if (out.contents.size() >= limit || ++steps >= 16 * limit) out.truncated = true;
    return out.truncated;
  };
  for (uint32_t b = 0; b < bases.size() && !out.truncated; ++b) {
    if (!log.has_non_temporal()) {
      chain_contents(log, bases[b], policy, [&](const Content& content) {
        const uint32_t index = add(content, b);
        if (b == 0) out.visible = index;
        return !full();
      });
      continue;
    }
    log.for_each(policy, [&](const Overlay& overlay, const LineLog::Selection&) {
      Content content = bases[b];
      overlay.apply_to(&content);
      const uint32_t index = add(content, b);
      if (b == 0) out.visible = index;
      return !full();
    });
  }
  return out;
}

}  // namespace powercut
