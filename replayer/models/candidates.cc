#include "replayer/models/candidates.h"

#include <algorithm>
#include <bit>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kFew = 8;

// A line may hold many more sets of atoms than contents; this bounds the search where they are equal.
constexpr size_t kStepsPerContent = 16;

// Returns whether `subset` has, for each of its atoms, all earlier atoms that overlap it.
bool closed(std::span<const Atom> atoms, uint64_t subset) {
  for (size_t a = 0; a < atoms.size(); ++a) {
    if ((subset >> a & 1) == 0) continue;
    for (size_t b = 0; b < a; ++b) {
      if ((subset >> b & 1) == 0 && (atoms[a].mask() & atoms[b].mask()) != 0) return false;
    }
  }
  return true;
}

}  // namespace

void ContentIndex::clear() {
  table_.clear();
  indexed_ = 0;
}

size_t ContentIndex::place_of(const Content& content, const std::vector<Content>& contents) const {
  const size_t mask = table_.size() - 1;
  size_t place = XXH3_64bits(content.bytes.data(), kLineSize) & mask;
  while (table_[place] != 0 && !(contents[table_[place] - 1] == content)) place = (place + 1) & mask;
  return place;
}

// Contents that were appended without a search are distinct: they only have to be found later.
void ContentIndex::index_all(const std::vector<Content>& contents) {
  if (table_.size() < 2 * (contents.size() + 1)) {
    table_.assign(std::bit_ceil(4 * (contents.size() + 1)), 0);
    indexed_ = 0;
  }
  for (; indexed_ < contents.size(); ++indexed_) {
    table_[place_of(contents[indexed_], contents)] = static_cast<uint32_t>(indexed_ + 1);
  }
}

uint32_t ContentIndex::add(const Content& content, std::vector<Content>* contents) {
  const auto next = static_cast<uint32_t>(contents->size());
  if (contents->size() <= kFew) {
    const auto same = std::find(contents->begin(), contents->end(), content);
    if (same != contents->end()) return static_cast<uint32_t>(same - contents->begin());
    contents->push_back(content);
    return next;
  }
  index_all(*contents);
  const size_t place = place_of(content, *contents);
  if (table_[place] != 0) return table_[place] - 1;
  table_[place] = next + 1;
  contents->push_back(content);
  indexed_ = contents->size();
  return next;
}

void ChainCandidates::clear() {
  index_.clear();
  seen_ = steps_ = 0;
  visible_ = 0;
  truncated_ = false;
}

void ChainCandidates::start(const Content& base, size_t limit, std::vector<Content>* contents) {
  prefix_ = base;
  seen_ = 0;
  add(base, contents->empty(), limit, contents);
}

bool ChainCandidates::add(const Content& content, bool distinct, size_t limit, std::vector<Content>* contents) {
  if (distinct) {
    visible_ = static_cast<uint32_t>(contents->size());
    contents->push_back(content);
  } else {
    visible_ = index_.add(content, contents);
  }
  truncated_ = contents->size() >= limit || ++steps_ >= kStepsPerContent * limit;
  return !truncated_;
}

void ChainCandidates::extend(const std::vector<PendingStore>& stores, AtomPolicy policy, size_t limit,
                             std::vector<Content>* contents) {
  for (; seen_ < stores.size() && !truncated_; ++seen_) add_store(stores[seen_], policy, limit, contents);
}

bool ChainCandidates::add_store(const PendingStore& store, AtomPolicy policy, size_t limit,
                                std::vector<Content>* contents) {
  // An atom that changes nothing in the prefix makes only contents that the sets without the atom make as well, and
  // these sets come first. Leaving the atom out changes neither the contents nor their order. If the atom overlaps an
  // earlier atom of its store, it may take that atom's bytes back, and stays.
  absl::InlinedVector<Atom, 8> atoms;
  for (const Atom& atom : store.atoms) {
    if (store.overlapping || prefix_.changes_by(atom)) atoms.push_back(atom);
  }
  const size_t n = atoms.size();
  if (n == 0) return true;
  // If each atom changes a lone base, every subset of the atoms is a content of its own.
  const bool distinct = contents->size() == 1 && !store.overlapping;
  if (n > 1 && store.whole) {
    // The store persists whole or not at all: the prefix alone is known already, and the store whole follows below.
  } else if (n > 1 && policy == AtomPolicy::kAscending) {
    Content partial = prefix_;
    for (size_t a = 0; a + 1 < n; ++a) {
      partial.put(atoms[a]);
      if (!add(partial, distinct, limit, contents)) return false;
    }
  } else if (n > 1) {
    // Subset counter; a line has at most 64 atoms, and the limit stops the walk long before it wraps.
    const uint64_t last = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
    const auto steps_limit = kStepsPerContent * limit;
    for (uint64_t subset = 1; subset < last; ++subset) {
      if (store.overlapping && !closed(atoms, subset)) {
        truncated_ = ++steps_ >= steps_limit;
        if (truncated_) return false;
        continue;
      }
      Content partial = prefix_;
      for (uint64_t left = subset; left != 0; left &= left - 1) partial.put(atoms[std::countr_zero(left)]);
      if (!add(partial, distinct, limit, contents)) return false;
    }
  }
  for (const Atom& atom : atoms) prefix_.put(atom);
  return add(prefix_, distinct, limit, contents);
}

// Returns the contents of any set of whole stores, later stores on top. Each store adds the contents so far with the
// store laid over them. Therefore a sector that was written n times costs n contents, though the stores have 2^n sets.
CandidateSet candidates_of_units(const LineLog& log, std::span<const Content> bases, size_t limit) {
  CandidateSet out;
  ContentIndex index;
  for (uint32_t b = 0; b < bases.size() && !out.truncated; ++b) {
    std::vector<Content> made = {bases[b]};
    log.floor().apply_to(&made[0]);
    ContentIndex known;
    known.add(made[0], &made);
    Content visible = made[0];
    for (const PendingStore& store : log.stores()) {
      for (size_t i = 0, before = made.size(); i < before && made.size() < limit; ++i) {
        Content with = made[i];
        for (const Atom& atom : store.atoms) with.put(atom);
        known.add(with, &made);
      }
      for (const Atom& atom : store.atoms) visible.put(atom);
    }
    for (const Content& content : made) index.add(content, &out.contents);
    if (b == 0) out.visible = index.add(visible, &out.contents);
    out.base.resize(out.contents.size(), b);
    out.truncated = made.size() >= limit || out.contents.size() >= limit;
  }
  return out;
}

CandidateSet candidates(const LineLog& log, std::span<const Content> bases, AtomPolicy policy, size_t limit) {
  CandidateSet out;
  if (!log.has_non_temporal()) {
    ChainCandidates chain;
    for (uint32_t b = 0; b < bases.size() && !chain.truncated(); ++b) {
      Content floor = bases[b];
      log.floor().apply_to(&floor);
      chain.start(floor, limit, &out.contents);
      chain.extend(log.stores(), policy, limit, &out.contents);
      out.base.resize(out.contents.size(), b);
      if (b == 0) out.visible = chain.visible();
    }
    out.truncated = chain.truncated() || log.crowded();
    return out;
  }
  if (policy == AtomPolicy::kUnits) return candidates_of_units(log, bases, limit);
  ContentIndex index;
  size_t steps = 0;
  for (uint32_t b = 0; b < bases.size() && !out.truncated; ++b) {
    log.for_each(policy, [&](const Overlay& overlay, const LineLog::Selection&) {
      Content content = bases[b];
      overlay.apply_to(&content);
      const uint32_t at = index.add(content, &out.contents);
      if (b == 0) out.visible = at;
      out.truncated = out.contents.size() >= limit || ++steps >= kStepsPerContent * limit;
      return !out.truncated;
    });
    out.base.resize(out.contents.size(), b);
  }
  out.truncated = out.truncated || log.crowded();
  return out;
}

bool shrinks(const LineLog& log, const LineLog::Selection& durable, const Content& base, AtomPolicy policy,
             size_t limit) {
  bool differs = false;    // some atom changes a byte of the floor
  bool everything = true;  // nothing stays pending
  uint64_t settled = 0;    // bytes that durable atoms write
  for (size_t i = 0; i < log.stores().size(); ++i) {
    const PendingStore& store = log.stores()[i];
    for (size_t a = 0; a < store.atoms.size(); ++a) {
      differs = differs || base.changes_by(store.atoms[a]);
      everything = everything && (durable[i] >> a & 1) != 0;
      if (durable[i] >> a & 1) settled |= store.atoms[a].mask();
    }
  }
  // Every set of atoms gives the floor.
  if (!differs || settled == 0) return false;
  // If everything becomes durable, one content stays, and there were at least two. The second content: let the atom A
  // of store S be the first that changes the floor. All stores before S and the atoms of S that A needs are a legal
  // set. No atom of this set after A writes A's bytes.
  if (everything) return true;
  // Take a byte that a durable atom writes: every content that stays has a value there that some atom wrote. If no atom
  // wrote the floor's value, then the floor, a content until now, goes.
  for (const PendingStore& store : log.stores()) {
    for (const Atom& atom : store.atoms) {
      const uint64_t other = base.word(atom.word) ^ atom.value;
      for (int i = 0; i < 8; ++i) {
        if ((atom.bytes >> i & 1) != 0 && (other >> (8 * i) & 0xff) == 0)
          settled &= ~(uint64_t{1} << (atom.word * 8 + i));
      }
    }
  }
  if (settled != 0) return true;
  // The contents after raising a floor are a subset of those before, so equal counts mean equal sets.
  const CandidateSet before = candidates(log, {&base, 1}, policy, limit);
  if (before.truncated) return true;
  LineLog raised = log;
  raised.commit(durable, policy);
  return candidates(raised, {&base, 1}, policy, limit).contents.size() != before.contents.size();
}

}  // namespace powercut
