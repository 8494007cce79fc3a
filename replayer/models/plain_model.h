// The models, written down as plainly as possible, for tests. Every set is made anew, every question is answered by
// comparing whole sets, nothing is kept between two events but the stores. The models must give the same crash points
// and the same contents in the same order.
#ifndef POWERCUT_REPLAYER_MODELS_PLAIN_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_PLAIN_MODEL_H_

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "replayer/models/line_log.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/trace.h"

namespace powercut::plain {

struct Store {
  uint64_t event = 0;
  uint32_t thread = 0;
  bool non_temporal = false, whole = false;
  std::vector<Atom> atoms;
};
using Stores = std::vector<Store>;
using Chosen = std::vector<std::vector<bool>>;  // by store, then by atom

struct Set {
  std::vector<Content> contents;
  uint32_t visible = 0;
  void add(const Content& content) {
    const auto at = std::find(contents.begin(), contents.end(), content);
    visible = static_cast<uint32_t>(at - contents.begin());
    if (at == contents.end()) contents.push_back(content);
  }
};

inline bool has_non_temporal(const Stores& stores) {
  return std::any_of(stores.begin(), stores.end(), [](const Store& s) { return s.non_temporal; });
}

inline bool overlap(const Atom& a, const Atom& b) { return a.word == b.word && (a.bytes & b.bytes) != 0; }

inline void put(const Atom& atom, Content* content) {
  for (size_t i = 0; i < 8; ++i) {
    if (atom.bytes >> i & 1) content->bytes[atom.word * 8 + i] = static_cast<uint8_t>(atom.value >> (8 * i));
  }
}

// Returns whether atom (s, a) may only persist if atom (t, b) has persisted.
inline bool requires_atom(const Stores& stores, size_t s, size_t a, size_t t, size_t b, AtomPolicy policy) {
  const bool chained = !stores[s].non_temporal && !stores[t].non_temporal;
  if (s == t) {
    if (stores[s].whole) return a != b;
    return b < a && ((chained && policy == AtomPolicy::kAscending) || overlap(stores[s].atoms[a], stores[s].atoms[b]));
  }
  return t < s && (chained || overlap(stores[s].atoms[a], stores[t].atoms[b]));
}

// Calls `visit(s, a, t, b)` for every pair of atoms.
template <typename Visit>
void for_pairs(const Stores& stores, const Visit& visit) {
  for (size_t s = 0; s < stores.size(); ++s) {
    for (size_t a = 0; a < stores[s].atoms.size(); ++a) {
      for (size_t t = 0; t < stores.size(); ++t) {
        for (size_t b = 0; b < stores[t].atoms.size(); ++b) visit(s, a, t, b);
      }
    }
  }
}

inline void add_if_legal(const Stores& stores, const Chosen& chosen, const Content& floor, AtomPolicy policy,
                         Set* out) {
  bool legal = true;
  for_pairs(stores, [&](size_t s, size_t a, size_t t, size_t b) {
    if (chosen[s][a] && !chosen[t][b] && requires_atom(stores, s, a, t, b, policy)) legal = false;
  });
  if (!legal) return;
  Content content = floor;
  for (size_t s = 0; s < stores.size(); ++s) {
    for (size_t a = 0; a < stores[s].atoms.size(); ++a) {
      if (chosen[s][a]) put(stores[s].atoms[a], &content);
    }
  }
  out->add(content);
}

inline Chosen none(const Stores& stores) {
  Chosen out;
  for (const Store& store : stores) out.emplace_back(store.atoms.size(), false);
  return out;
}

// With non-temporal stores: adds every set of atoms. The sets without an atom come before the sets with the atom.
inline void choose(const Stores& stores, size_t s, size_t a, Chosen* chosen, const Content& floor, AtomPolicy policy,
                   Set* out) {
  if (s == stores.size()) return add_if_legal(stores, *chosen, floor, policy, out);
  if (a == stores[s].atoms.size()) return choose(stores, s + 1, 0, chosen, floor, policy, out);
  for (bool present : {false, true}) {
    (*chosen)[s][a] = present;
    choose(stores, s, a + 1, chosen, floor, policy, out);
  }
  (*chosen)[s][a] = false;
}

inline Set candidates(const Stores& stores, const Content& floor, AtomPolicy policy) {
  Set out;
  Chosen chosen = none(stores);
  if (has_non_temporal(stores)) {
    choose(stores, 0, 0, &chosen, floor, policy, &out);
    return out;
  }
  // A chain: the earlier stores whole, then the sets of this one's atoms as a counter gives them.
  out.add(floor);
  for (size_t s = 0; s < stores.size(); ++s) {
    const size_t n = stores[s].atoms.size();
    for (uint64_t subset = 1; subset < uint64_t{1} << n; ++subset) {
      for (size_t a = 0; a < n; ++a) chosen[s][a] = (subset >> a & 1) != 0;
      add_if_legal(stores, chosen, floor, policy, &out);
    }
  }
  return out;
}

class Model {
 public:
  Model(std::string name, AtomPolicy policy, uint64_t pool_size)
      : eadr_(name == "eadr"), policy_(policy), durable_(pool_size / kLineSize) {}

  bool crash_ahead_of(const Event* next) {
    const bool begins = next != nullptr && next->kind == EventKind::kOpBegin && unvisited_;
    return visits(begins || (eadr_ && stored_ && (next == nullptr || !continues(*next))));
  }

  bool crash_before(const Event& event) { return visits(raises(event)); }

  bool raises(const Event& event) const {
    if (event.kind == EventKind::kCut) return true;
    if (eadr_) return false;
    Model after = *this;
    if (event.kind == EventKind::kFence) {
      after.fence(event.thread);
    } else if (event.kind == EventKind::kFlush && event.code == static_cast<uint8_t>(FlushKind::kClflush)) {
      after.settle(event.addr / kLineSize);
    } else {
      return false;
    }
    for (uint64_t line = 0; line < durable_.size(); ++line) {
      if (after.candidates(line).contents.size() != candidates(line).contents.size()) return true;
    }
    return false;
  }

  void apply(const Event& event) {
    if (in_flight_ && !continues(event)) {
      for (uint64_t line = 0; line < durable_.size(); ++line) settle(line);
    }
    in_flight_ = eadr_ && event.kind == EventKind::kStore;
    stored_ = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
    change(event);
    if (!stored_ && event.kind != EventKind::kPhase) return;
    for (const auto& [line, stores] : stores_) unvisited_ = unvisited_ || !stores.empty();
  }

  bool crash_after(const Event& event) { return visits(event.kind == EventKind::kOpEnd); }

  Set candidates(uint64_t line) const {
    const auto at = stores_.find(line);
    return plain::candidates(at == stores_.end() ? Stores{} : at->second, durable_[line], policy_);
  }

 private:
  static bool continues(const Event& event) {
    return event.kind <= EventKind::kNtStore && (event.flags & kStoreContinues) != 0;
  }

  bool visits(bool crash) {
    unvisited_ = unvisited_ && !crash;
    return crash;
  }

  void change(const Event& event) {
    const uint64_t line = event.addr / kLineSize;
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        return store(event);
      case EventKind::kFlush:
        if (eadr_) return;
        if (event.code == static_cast<uint8_t>(FlushKind::kClflush)) return settle(line);
        remembered_[{event.thread, line}] = event.index;
        return;
      case EventKind::kFence:
        return fence(event.thread);
      case EventKind::kCut:
        for (uint64_t i = 0; i < durable_.size(); ++i) {
          raise(i, [](const Store&) { return true; });
        }
        remembered_.clear();
        return;
      case POWERCUT_OPERATION_EVENTS:
      case POWERCUT_PROCESS_EVENTS:
      case POWERCUT_NAME_EVENTS:
      case POWERCUT_TREE_EVENTS:
      case EventKind::kContent:
        return;
    }
  }

  // Returns whether byte `i` of a call of `size` bytes begins a move: a move from the front, the greatest first, or one
  // of the two moves that a copy can end with.
  static bool begins_move(uint64_t size, uint64_t i) {
    uint64_t widest = 64;
    while (widest > size) widest /= 2;
    uint64_t overlapping = 1;
    while (overlapping < size % widest) overlapping *= 2;
    if (i + widest == size || (size % widest != 0 && i + overlapping == size)) return true;
    uint64_t at = 0;
    for (uint64_t move = widest; move > 0; move /= 2) {
      while (at + move <= size) {
        if (at == i) return true;
        at += move;
      }
    }
    return false;
  }

  void store(const Event& event) {
    const bool memcall = (event.flags & kStoreMemcall) != 0;
    const bool by_byte = policy_ == AtomPolicy::kByte && memcall, by_move = policy_ == AtomPolicy::kAny && memcall;
    if (!continues(event)) group_ = event.index;
    std::map<uint64_t, Store> parts;  // parts of the store, by line
    for (size_t i = 0; i < event.value.size(); ++i) {
      const uint64_t at = event.addr + i;
      Store& part = parts[at / kLineSize];
      const auto word = static_cast<uint8_t>(at % kLineSize / 8);
      const bool cut = by_byte || (by_move && begins_move(event.value.size(), i));
      if (part.atoms.empty() || cut || part.atoms.back().word != word) part.atoms.push_back({.word = word});
      part.atoms.back().bytes |= static_cast<uint8_t>(1u << (at % 8));
      part.atoms.back().value |= uint64_t{event.value[i]} << (at % 8 * 8);
    }
    for (auto& [line, part] : parts) {
      if (Stores& stores = stores_[line]; continues(event) && !stores.empty() && stores.back().event == group_) {
        stores.back().atoms.insert(stores.back().atoms.end(), part.atoms.begin(), part.atoms.end());
        continue;
      }
      part.event = group_;
      part.thread = event.thread;
      part.non_temporal = event.kind == EventKind::kNtStore;
      part.whole =
          (event.flags & kStoreRmw) != 0 || (part.non_temporal && !memcall && (event.flags & kStoreAtomic) != 0);
      stores_[line].push_back(part);
    }
  }

  void fence(uint32_t thread) {
    for (uint64_t line = 0; line < durable_.size(); ++line) {
      const auto flushed = remembered_.find({thread, line});
      raise(line, [&](const Store& store) {
        if (store.non_temporal) return store.thread == thread;
        return flushed != remembered_.end() && store.event <= flushed->second;
      });
      if (flushed != remembered_.end()) remembered_.erase(flushed);
    }
  }

  void settle(uint64_t line) {
    raise(line, [](const Store& store) { return !store.non_temporal; });
  }

  template <typename Durable>
  void raise(uint64_t line, const Durable& durable) {
    Stores& stores = stores_[line];
    Chosen chosen = none(stores);
    for (size_t s = 0; s < stores.size(); ++s) {
      if (durable(stores[s])) chosen[s].assign(stores[s].atoms.size(), true);
    }
    for (bool more = true; more;) {
      more = false;
      for_pairs(stores, [&](size_t s, size_t a, size_t t, size_t b) {
        if (!chosen[s][a] || chosen[t][b] || !requires_atom(stores, s, a, t, b, policy_)) return;
        chosen[t][b] = more = true;
      });
    }
    Stores kept;
    for (size_t s = 0; s < stores.size(); ++s) {
      Store rest = stores[s];
      rest.atoms.clear();
      for (size_t a = 0; a < stores[s].atoms.size(); ++a) {
        if (chosen[s][a]) {
          put(stores[s].atoms[a], &durable_[line]);
        } else {
          rest.atoms.push_back(stores[s].atoms[a]);
        }
      }
      if (!rest.atoms.empty()) kept.push_back(rest);
    }
    stores = kept;
  }

  bool eadr_, in_flight_ = false, stored_ = false, unvisited_ = false;
  uint64_t group_ = 0;  // the first piece of the last store
  AtomPolicy policy_;
  std::vector<Content> durable_;
  std::map<uint64_t, Stores> stores_;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> remembered_;  // (thread, line) -> event of the flush
};

}  // namespace powercut::plain
#endif  // POWERCUT_REPLAYER_MODELS_PLAIN_MODEL_H_
