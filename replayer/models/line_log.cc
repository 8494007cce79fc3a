#include "replayer/models/line_log.h"

#include <algorithm>
#include <bit>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kMostAtoms = 64;  // limit for a store in a line; only overlapping atoms can exceed it

uint64_t line_mask(uint32_t offset, size_t size) {
  return (size >= 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1) << offset;
}

uint64_t all_atoms(const PendingStore& store) {
  return store.atoms.size() >= 64 ? ~uint64_t{0} : (uint64_t{1} << store.atoms.size()) - 1;
}

bool overlaps(const Atom& a, const Atom& b) { return a.word == b.word && (a.bytes & b.bytes) != 0; }

}  // namespace

void Overlay::put(const Atom& atom) {
  content.put(atom);
  mask |= atom.mask();
}

void Overlay::apply_to(Content* base) const {
  if (mask == 0) return;
  for (uint8_t word = 0; word < 8; ++word) {
    const auto bytes = static_cast<uint8_t>(mask >> (word * 8));
    if (bytes != 0) base->put({.value = content.word(word), .word = word, .bytes = bytes});
  }
}

PendingStore& LineLog::begin_store(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits) {
  non_temporal_ += traits.non_temporal;
  return stores_.emplace_back(PendingStore{.event = event,
                                           .thread = thread,
                                           .stack = stack,
                                           .non_temporal = traits.non_temporal,
                                           .whole = traits.whole,
                                           .atoms = {}});
}

void LineLog::append(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits, uint32_t offset,
                     std::span<const uint8_t> bytes, uint64_t cuts, AtomPolicy policy) {
  const bool more = !stores_.empty() && stores_.back().event == event;
  PendingStore* store = more ? &stores_.back() : &begin_store(event, thread, stack, traits);
  if (more && !store->overlapping) {
    uint64_t before = 0;
    for (const Atom& atom : store->atoms) before |= atom.mask();
    store->overlapping = (before & line_mask(offset, bytes.size())) != 0;
  }
  const bool by_byte = policy == AtomPolicy::kByte && traits.memcall;
  for (size_t i = 0; i < bytes.size();) {
    const uint32_t at = offset + static_cast<uint32_t>(i);
    const uint32_t in_word = at % 8;
    uint32_t length = by_byte ? 1 : std::min<uint32_t>(8 - in_word, static_cast<uint32_t>(bytes.size() - i));
    for (uint32_t cut = 1; cut < length; ++cut) {
      if ((cuts >> (at + cut) & 1) != 0) length = cut;
    }
    if (store->atoms.size() == kMostAtoms) {  // a selection has no bit for more
      store = &begin_store(event, thread, stack, traits);
      crowded_ = true;
    }
    Atom atom;
    atom.word = static_cast<uint8_t>(at / 8);
    atom.bytes = static_cast<uint8_t>(((1u << length) - 1) << in_word);
    std::memcpy(reinterpret_cast<uint8_t*>(&atom.value) + in_word, bytes.data() + i, length);
    store->atoms.push_back(atom);
    i += length;
  }
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

const uint64_t* LineLog::covered_by(uint32_t thread) const {
  for (const Remembered& r : remembered_) {
    if (r.thread == thread) return &r.event;
  }
  return nullptr;
}

bool LineLog::fence_raises(uint32_t thread) const {
  const uint64_t* covered = covered_by(thread);
  if (non_temporal_ == 0) return covered != nullptr && !stores_.empty() && stores_[0].event <= *covered;
  return std::any_of(stores_.begin(), stores_.end(), [&](const PendingStore& s) {
    return s.non_temporal ? s.thread == thread : covered != nullptr && s.event <= *covered;
  });
}

// Adds all atoms that rules (1) and (2) require for the marked atoms. Requirements always lead to earlier atoms, or to
// all atoms of a whole store. Therefore one pass backwards closes the set; it carries the bytes that are required so
// far, and whether the rest of the chain is required.
void LineLog::close(Selection* durable, AtomPolicy policy) const {
  bool chain = false;
  uint64_t bytes = 0;
  for (size_t i = stores_.size(); i-- > 0;) {
    const PendingStore& store = stores_[i];
    uint64_t atoms = (*durable)[i];
    if (chain && !store.non_temporal) atoms = all_atoms(store);
    for (size_t a = store.atoms.size(); a-- > 0;) {
      if ((store.atoms[a].mask() & bytes) != 0) atoms |= uint64_t{1} << a;
      if (store.overlapping && (atoms >> a & 1) != 0) bytes |= store.atoms[a].mask();
    }
    if (atoms == 0) continue;
    if (store.whole) atoms = all_atoms(store);
    if (policy == AtomPolicy::kAscending && !store.non_temporal) {
      atoms |= (uint64_t{1} << (63 - std::countl_zero(atoms))) - 1;  // lower addresses first
    }
    for (uint64_t left = atoms; left != 0; left &= left - 1) bytes |= store.atoms[std::countr_zero(left)].mask();
    chain = chain || !store.non_temporal;
    (*durable)[i] = atoms;
  }
}

uint64_t LineLog::digest() const {
  uint64_t sum = 0;
  const auto add = [&sum](uint64_t word) { sum = XXH3_64bits_withSeed(&word, sizeof word, sum); };
  for (const PendingStore& store : stores_) {
    add(uint64_t{store.non_temporal ? store.thread : 0} << 2 | uint64_t{store.whole} << 1 |
        uint64_t{store.non_temporal});
    add(store.atoms.size());
    for (const Atom& atom : store.atoms) {
      add(atom.value);
      add(uint64_t{atom.word} << 8 | atom.bytes);
    }
  }
  uint64_t remembered = 0;  // a sum over threads, whose order does not matter
  for (const Remembered& r : remembered_) {
    const auto covered = std::count_if(stores_.begin(), stores_.end(),
                                       [&r](const PendingStore& s) { return !s.non_temporal && s.event <= r.event; });
    const uint64_t pair[2] = {r.thread, static_cast<uint64_t>(covered)};
    if (covered > 0) remembered += XXH3_64bits(pair, sizeof pair);
  }
  add(remembered);
  return sum;
}

LineLog::Selection LineLog::durable_by_fence(uint32_t thread, AtomPolicy policy) const {
  const uint64_t* covered = covered_by(thread);
  Selection durable(stores_.size(), 0);
  for (size_t i = 0; i < stores_.size(); ++i) {
    const PendingStore& store = stores_[i];
    if (store.non_temporal ? store.thread == thread : covered != nullptr && store.event <= *covered) {
      durable[i] = all_atoms(store);
    }
  }
  if (non_temporal_ > 0) close(&durable, policy);  // a part of the chain is closed: a fence covers a prefix of it
  return durable;
}

LineLog::Selection LineLog::durable_by_settling(AtomPolicy policy) const {
  Selection durable(stores_.size(), 0);
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (!stores_[i].non_temporal) durable[i] = all_atoms(stores_[i]);
  }
  if (non_temporal_ > 0) close(&durable, policy);
  return durable;
}

LineLog::Selection LineLog::durable_by_forcing(uint32_t word) const {
  Selection durable(stores_.size(), 0);
  for (size_t i = stores_.size(); i-- > 0;) {
    const auto& atoms = stores_[i].atoms;
    if (std::none_of(atoms.begin(), atoms.end(), [word](const Atom& atom) { return atom.word == word; })) continue;
    durable[i] = all_atoms(stores_[i]);
    break;
  }
  return durable;
}

LineLog::Selection LineLog::all() const {
  Selection durable;
  for (const PendingStore& store : stores_) durable.push_back(all_atoms(store));
  return durable;
}

// Moves durable atoms to the floor, in visibility order, and drops empty stores.
bool LineLog::commit(const Selection& durable, AtomPolicy policy) {
  bool any = false;
  if (policy == AtomPolicy::kUnits) {
    uint64_t above = 0;  // bytes that a later store has made durable
    for (size_t i = stores_.size(); i-- > 0;) {
      PendingStore& store = stores_[i];
      if (durable[i] != 0) {
        for (const Atom& atom : store.atoms) above |= atom.mask();
      } else {
        const auto gone = std::remove_if(store.atoms.begin(), store.atoms.end(),
                                         [above](const Atom& atom) { return (atom.mask() & above) != 0; });
        store.atoms.erase(gone, store.atoms.end());
        if (store.atoms.empty()) non_temporal_ -= store.non_temporal;
      }
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < stores_.size(); ++i) {
    PendingStore& store = stores_[i];
    if (durable[i] != 0) {
      any = true;
      size_t rest = 0;
      for (size_t a = 0; a < store.atoms.size(); ++a) {
        if (durable[i] >> a & 1) {
          floor_.put(store.atoms[a]);
        } else {
          store.atoms[rest++] = store.atoms[a];
        }
      }
      store.atoms.resize(rest);
      if (rest == 0) non_temporal_ -= store.non_temporal;
    }
    if (store.atoms.empty()) continue;
    if (kept != i) stores_[kept] = std::move(store);
    ++kept;
  }
  stores_.resize(kept);
  if (stores_.empty()) forget();
  return any;
}

bool LineLog::drop_first(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (const Atom& atom : stores_[i].atoms) floor_.put(atom);
  }
  stores_.erase(stores_.begin(), stores_.begin() + static_cast<ptrdiff_t>(count));
  if (stores_.empty()) forget();
  return count > 0;
}

bool LineLog::fence(uint32_t thread, AtomPolicy policy) {
  const Selection durable = non_temporal_ > 0 ? durable_by_fence(thread, policy) : Selection{};
  size_t first = 0;
  for (size_t i = 0; i < remembered_.size(); ++i) {
    if (remembered_[i].thread != thread) continue;
    while (first < stores_.size() && stores_[first].event <= remembered_[i].event) ++first;
    remembered_.erase(remembered_.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  return non_temporal_ > 0 ? commit(durable) : drop_first(first);
}

bool LineLog::settle_chain(AtomPolicy policy) {
  return non_temporal_ > 0 ? commit(durable_by_settling(policy)) : drop_first(stores_.size());
}

void LineLog::settle_all() {
  drop_first(stores_.size());
  non_temporal_ = 0;
}

Overlay LineLog::take_floor() {
  Overlay floor = floor_;
  floor_ = Overlay{};
  return floor;
}

void LineLog::clear() {
  // The log of a counter that was stored to for a whole run should not keep its memory.
  if (stores_.capacity() > 64) stores_ = {};
  stores_.clear();
  forget();
  non_temporal_ = 0;
  floor_ = Overlay{};
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
    for (size_t j = 0; j <= index; ++j) {
      const size_t count = j < index ? stores_[j].atoms.size() : stores_[j].overlapping ? atom : 0;
      for (size_t b = 0; b < count; ++b) {
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

}  // namespace powercut
