// The log of one line: its stores that are visible but not certainly durable. The log gives the contents that the line
// may have after a power cut.
//
// A line's stores, in visibility order, are split into atoms (pieces of at most 8 bytes that persist as
// a whole). A set P of pending atoms may have reached the medium if both rules hold:
//   (1) its cacheable part is a prefix of the chain of cacheable stores plus some atoms of the next store: a cache
//       line is written back as it is (Px86, Raad et al., POPL 2020, same-line order);
//   (2) P is closed under overlap: an atom in P requires every earlier atom that shares a byte with it: coherence of
//       each location. Non-temporal stores have no other order (Raad, Maranget & Vafeiadis, POPL 2022).
// A candidate is the base content overlaid with such a P in visibility order.
//
// One store may come in several appends (kStoreContinues): lanes of a vector, the rest of a long `memset`. Its atoms
// are in the order of the appends, which is the order of visibility. Only atoms of different appends of one store can
// overlap.
//
// Durable atoms leave the log for the floor overlay at once. This move commutes with every atom that stays: by (2) an
// earlier atom that overlaps a durable atom is durable too, so the two touch different bytes.
#ifndef POWERCUT_REPLAYER_MODELS_LINE_LOG_H_
#define POWERCUT_REPLAYER_MODELS_LINE_LOG_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "tracer/format/trace.h"

namespace powercut {

// How a store that is more than one aligned word may be torn.
enum class AtomPolicy : uint8_t {
  kAny,        // 8-byte pieces persist in any order; pieces of mem* calls are cut where the call's moves are
  kAscending,  // 8-byte pieces persist from low to high addresses
  kByte,       // the bytes of mem* calls persist in any order; other stores as kAny
  // Policy of a block device (MODELS.md, "block"): every store is whole and around the cache, and any set of stores
  // persists. If two stores write the same word, the later store is on top.
  kUnits,
};

// The properties of a store that models need, besides its bytes.
struct StoreTraits {
  bool non_temporal = false;
  bool memcall = false;    // made by a mem* or str* function
  bool whole = false;      // never torn within a line: a locked read-modify-write, movdir64b
  bool continues = false;  // a further piece of the store before it

  // Returns the traits of a store in a trace. `flags`: as in trace.h.
  static StoreTraits of(bool non_temporal, uint32_t flags) {
    const bool direct = non_temporal && (flags & kStoreAtomic) != 0;
    const bool memcall = (flags & kStoreMemcall) != 0;
    return {.non_temporal = non_temporal,
            .memcall = memcall,
            .whole = (flags & kStoreRmw) != 0 || (direct && !memcall),
            .continues = (flags & kStoreContinues) != 0};
  }
};

// One piece of a store inside one aligned 8-byte word of the line.
struct Atom {
  uint64_t value = 0;  // bytes in their place within the word; others zero
  uint8_t word = 0;    // 0..7
  uint8_t bytes = 0;   // mask of the word's bytes that the atom writes

  uint64_t mask() const { return uint64_t{bytes} << (word * 8); }  // of the line's bytes
};

// Returns a word whose byte i is 0xff if bit i of `bytes` is set, else 0.
inline uint64_t widened(uint8_t bytes) {
  const uint64_t bits = (bytes * uint64_t{0x0101010101010101}) & 0x8040201008040201;
  return ((bits + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101) * 0xff;
}

struct PendingStore {
  uint64_t event = 0;  // index of the trace event
  uint32_t thread = 0;
  uint32_t stack = 0;
  bool non_temporal = false;
  bool whole = false;                  // see StoreTraits
  bool overlapping = false;            // true: some of the store's atoms share a byte
  absl::InlinedVector<Atom, 5> atoms;  // pending atoms, in the order of visibility. 5: 32 bytes anywhere
};

struct alignas(64) Content {
  std::array<uint8_t, kLineSize> bytes{};
  bool operator==(const Content& other) const { return std::memcmp(bytes.data(), other.bytes.data(), kLineSize) == 0; }
  uint64_t word(size_t index) const {
    uint64_t out;
    std::memcpy(&out, bytes.data() + index * 8, 8);
    return out;
  }
  void put(const Atom& atom) {
    const uint64_t merged = (word(atom.word) & ~widened(atom.bytes)) | atom.value;
    std::memcpy(bytes.data() + atom.word * 8, &merged, 8);
  }
  // Returns whether laying `atom` over the content changes a byte.
  bool changes_by(const Atom& atom) const { return ((word(atom.word) ^ atom.value) & widened(atom.bytes)) != 0; }
};

// Returns the content of a line in a pool.
inline Content content_at(const uint8_t* pool, uint64_t line) {
  Content content;
  std::memcpy(content.bytes.data(), pool + line * kLineSize, kLineSize);
  return content;
}

// Bytes laid over an unknown base.
struct Overlay {
  uint64_t mask = 0;  // bit i: byte i is written
  Content content;    // bytes outside `mask` are zero
  bool operator==(const Overlay&) const = default;
  void put(const Atom& atom);
  void apply_to(Content* base) const;
};

class LineLog {
 public:
  // Appends one store's part in this line: `bytes` at `offset` (0..63) within the line. A store with the same number
  // `event` as the store before it is a further piece of that store. `cuts`: bit i is set if an atom ends before byte i
  // of the line.
  void append(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits, uint32_t offset,
              std::span<const uint8_t> bytes, uint64_t cuts, AtomPolicy policy);
  // Applies clwb or clflushopt by `thread`: remembers the present chain.
  void remember(uint32_t thread);
  // Applies a fence of `thread`: the chain that the thread remembered, and its non-temporal stores, become durable.
  // Returns whether any pending atom became durable.
  bool fence(uint32_t thread, AtomPolicy policy);
  // Applies clflush, or the end of a store's flight under eadr: the whole chain becomes durable.
  bool settle_chain(AtomPolicy policy);
  // Makes everything durable (a deliberate cut of the scenario).
  void settle_all();
  // Each returns whether fence(thread), or settle_chain(), would make any pending atom durable.
  bool fence_raises(uint32_t thread) const;
  bool settle_raises() const { return stores_.size() > non_temporal_; }

  // A selection marks, for each store of stores(), some of its atoms (bit i = atom i).
  using Selection = absl::InlinedVector<uint64_t, 8>;
  // Each returns the atoms that fence(thread), or settle_chain(), would make durable.
  Selection durable_by_fence(uint32_t thread, AtomPolicy policy) const;
  Selection durable_by_settling(AtomPolicy policy) const;
  // Returns the stores that become durable when the last store to the word is forced. For policy kUnits.
  Selection durable_by_forcing(uint32_t word) const;
  Selection all() const;
  // Makes `durable` durable, a selection that one of the functions above returned. Returns whether the selection has
  // any atom. Policy kUnits: the stores below a durable store are dropped.
  bool commit(const Selection& durable, AtomPolicy policy = AtomPolicy::kAny);

  // Returns a digest of all that later candidates depend on, besides the base. Stores that differ in their numbers
  // alone have the same digest.
  uint64_t digest() const;
  bool has_non_temporal() const { return non_temporal_ > 0; }
  // Returns whether some store had more atoms in this line than are told apart: the candidates are then a part of the
  // legal contents.
  bool crowded() const { return crowded_; }
  bool pending() const { return !stores_.empty(); }
  const std::vector<PendingStore>& stores() const { return stores_; }
  // Returns the durable part above the base. take_floor() also forgets it, since the base absorbs it.
  const Overlay& floor() const { return floor_; }
  Overlay take_floor();
  // Empties the log and keeps its memory for another line.
  void clear();

  // Calls `visit(overlay, selection)` for every legal P, the empty one first and the full one last, overlays
  // above floor(). Several P may give the same overlay. Stops when `visit` returns false.
  void for_each(AtomPolicy policy, const std::function<bool(const Overlay&, const Selection&)>& visit) const;

 private:
  // Returns the last event that a fence of `thread` covers; null if the thread has remembered nothing in this line.
  const uint64_t* covered_by(uint32_t thread) const;
  void close(Selection* durable, AtomPolicy policy) const;
  bool drop_first(size_t count);
  PendingStore& begin_store(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits);
  // Called when nothing is pending any more.
  void forget() {
    remembered_.clear();
    crowded_ = false;
  }

  std::vector<PendingStore> stores_;  // visibility order
  size_t non_temporal_ = 0;           // number of non-temporal stores
  bool crowded_ = false;
  struct Remembered {
    uint32_t thread;
    uint64_t event;  // the last cacheable store that the flush covers
  };
  absl::InlinedVector<Remembered, 2> remembered_;
  Overlay floor_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_LINE_LOG_H_
