// LineLog against the two rules of its header, written down once more as a filter over all subsets of atoms.
#include "replayer/models/line_log.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "replayer/models/candidates.h"

namespace powercut {
namespace {

struct Store {
  uint32_t thread = 0;
  bool non_temporal = false, memcall = false;
  uint32_t offset = 0;  // within the line
  std::vector<uint8_t> bytes;
  bool whole = false;
};

void append(LineLog* log, uint64_t event, const Store& store, AtomPolicy policy) {
  const StoreTraits traits{.non_temporal = store.non_temporal, .memcall = store.memcall, .whole = store.whole};
  log->append(event, store.thread, 0, traits, store.offset, store.bytes, 0, policy);
}

std::vector<uint8_t> bytes_of(uint64_t value, size_t size = 8) {
  std::vector<uint8_t> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<uint8_t>(value + i);
  return out;
}

using LineContents = std::set<std::array<uint8_t, kLineSize>>;

LineContents contents_of(const LineLog& log, AtomPolicy policy, const Content& base = {}) {
  const CandidateSet set = candidates(log, {&base, 1}, policy, 1 << 16);
  EXPECT_FALSE(set.truncated);
  LineContents out;
  for (const Content& content : set.contents) out.insert(content.bytes);
  EXPECT_EQ(out.size(), set.contents.size()) << "candidates are not distinct";
  Content floor = base;
  log.floor().apply_to(&floor);
  EXPECT_EQ(set.contents[0].bytes, floor.bytes) << "the first candidate is not the floor";
  return out;
}

LineContents with_floor(LineLog log, AtomPolicy policy, const std::function<void(LineLog*)>& raise) {
  raise(&log);
  return contents_of(log, policy);
}

// ---- the rules, once more -------------------------------------------------------------------------------------

struct Piece {
  size_t store = 0;
  bool non_temporal = false, whole = false;
  uint32_t begin = 0;  // within the line
  std::vector<uint8_t> bytes;

  bool overlaps(const Piece& other) const {
    return begin < other.begin + other.bytes.size() && other.begin < begin + bytes.size();
  }
};

std::vector<Piece> pieces_of(const std::vector<Store>& stores, AtomPolicy policy) {
  std::vector<Piece> out;
  for (size_t s = 0; s < stores.size(); ++s) {
    const bool single = policy == AtomPolicy::kByte && stores[s].memcall;
    for (size_t i = 0; i < stores[s].bytes.size(); ++i) {
      const auto at = static_cast<uint32_t>(stores[s].offset + i);
      if (i == 0 || single || at % 8 == 0) out.push_back({s, stores[s].non_temporal, stores[s].whole, at, {}});
      out.back().bytes.push_back(stores[s].bytes[i]);
    }
  }
  return out;
}

// Returns whether `later` may only persist if `earlier` has persisted.
bool requires_earlier(const Piece& later, const Piece& earlier, AtomPolicy policy) {
  const bool chained = !later.non_temporal && !earlier.non_temporal;
  if (earlier.store == later.store) {
    return later.whole || (chained && policy == AtomPolicy::kAscending && earlier.begin < later.begin);
  }
  return earlier.store < later.store && (chained || later.overlaps(earlier));
}

// All contents of a line that these stores allow when at least the pieces with a bit in `durable` persisted.
LineContents allowed(const std::vector<Store>& stores, AtomPolicy policy,
                     const std::function<bool(const Store&)>& durable) {
  const std::vector<Piece> pieces = pieces_of(stores, policy);
  LineContents out;
  for (uint64_t subset = 0; subset < uint64_t{1} << pieces.size(); ++subset) {
    bool legal = true;
    Content content;
    for (size_t p = 0; p < pieces.size() && legal; ++p) {
      if (!(subset >> p & 1)) {
        legal = !durable(stores[pieces[p].store]);
        continue;
      }
      for (size_t q = 0; q < pieces.size() && legal; ++q) {
        if (p != q && requires_earlier(pieces[p], pieces[q], policy)) legal = (subset >> q & 1) != 0;
      }
      std::copy(pieces[p].bytes.begin(), pieces[p].bytes.end(), content.bytes.begin() + pieces[p].begin);
    }
    if (legal) out.insert(content.bytes);
  }
  return out;
}

rc::Gen<Store> any_store(uint8_t value) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<uint32_t>(0, 2), rc::gen::inRange(0, 4), rc::gen::arbitrary<bool>(),
                     rc::gen::inRange<uint32_t>(0, 20), rc::gen::element<size_t>(1, 2, 4, 8, 12, 16)),
      [value](const std::tuple<uint32_t, int, bool, uint32_t, size_t>& drawn) {
        const auto& [thread, kind, memcall, offset, size] = drawn;
        return Store{thread, kind == 0, memcall, offset, bytes_of(value, size)};
      });
}

std::vector<Store> any_program() {
  std::vector<Store> stores;
  size_t pieces = 0;
  const int count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    // Values of their own: 32 apart, and no store is longer.
    Store store = *any_store(static_cast<uint8_t>(1 + 32 * i));
    store.whole = !store.non_temporal && *rc::gen::inRange(0, 6) == 0;
    pieces += pieces_of({store}, AtomPolicy::kByte).size();
    if (pieces > 12) break;  // the reference looks at every subset
    stores.push_back(std::move(store));
  }
  if (stores.empty()) stores.push_back({.bytes = bytes_of(1)});
  return stores;
}

AtomPolicy any_policy() { return *rc::gen::element(AtomPolicy::kAny, AtomPolicy::kAscending, AtomPolicy::kByte); }

LineLog log_of(const std::vector<Store>& stores, AtomPolicy policy) {
  LineLog log;
  for (size_t i = 0; i < stores.size(); ++i) append(&log, i, stores[i], policy);
  return log;
}

RC_GTEST_PROP(LineLogRules, CandidatesAreTheLegalSubsets, ()) {
  const AtomPolicy policy = any_policy();
  const std::vector<Store> stores = any_program();
  RC_ASSERT(contents_of(log_of(stores, policy), policy) == allowed(stores, policy, [](const Store&) { return false; }));
}

// Durable atoms leave the log; the remaining log must allow exactly the subsets that contain the durable part.
RC_GTEST_PROP(LineLogRules, RaisingAFloorKeepsTheSupersets, ()) {
  const AtomPolicy policy = any_policy();
  const std::vector<Store> stores = any_program();
  const auto thread = *rc::gen::inRange<uint32_t>(0, 2);
  const auto flushed = *rc::gen::inRange<size_t>(0, stores.size() + 1);  // stores that the flush came after
  LineLog log;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (i == flushed) log.remember(thread);
    append(&log, i, stores[i], policy);
  }
  if (flushed == stores.size()) log.remember(thread);
  const bool raises = log.fence_raises(thread);
  RC_ASSERT(log.fence(thread, policy) == raises);
  RC_ASSERT(contents_of(log, policy) == allowed(stores, policy, [&](const Store& store) {
              const auto index = static_cast<size_t>(&store - stores.data());
              return store.non_temporal ? store.thread == thread : index < flushed;
            }));
}

RC_GTEST_PROP(LineLogRules, ClflushMakesTheChainDurable, ()) {
  const AtomPolicy policy = any_policy();
  const std::vector<Store> stores = any_program();
  LineLog log = log_of(stores, policy);
  const bool raises = log.settle_raises();
  RC_ASSERT(log.settle_chain(policy) == raises);
  RC_ASSERT(contents_of(log, policy) == allowed(stores, policy, [](const Store& s) { return !s.non_temporal; }));
}

RC_GTEST_PROP(LineLogRules, EveryBaseIsKeptApart, ()) {
  const AtomPolicy policy = any_policy();
  const std::vector<Store> stores = any_program();
  const LineLog log = log_of(stores, policy);
  std::array<Content, 3> bases;
  for (size_t b = 0; b < bases.size(); ++b) bases[b].bytes.fill(static_cast<uint8_t>(200 + b));
  const CandidateSet set = candidates(log, bases, policy, 1 << 16);
  std::vector<LineContents> on_base;
  LineContents expected;
  for (const Content& base : bases) {
    on_base.push_back(contents_of(log, policy, base));
    expected.insert(on_base.back().begin(), on_base.back().end());
  }
  LineContents got;
  for (size_t i = 0; i < set.contents.size(); ++i) {
    got.insert(set.contents[i].bytes);
    RC_ASSERT(on_base[set.base[i]].contains(set.contents[i].bytes));
  }
  RC_ASSERT(got == expected);
  RC_ASSERT(got.size() == set.contents.size());
}

// ---- examples of each rule -----------------------------------------------------------------------------------

TEST(LineLog, CacheableStoresOfALinePersistInOrder) {
  LineLog log = log_of({{.offset = 0, .bytes = bytes_of(1)}, {.offset = 32, .bytes = bytes_of(11)}}, AtomPolicy::kAny);
  EXPECT_EQ(contents_of(log, AtomPolicy::kAny).size(), 3u);  // nothing, the first, both; never the second alone
}

TEST(LineLog, AWideStoreIsTornIntoWords) {
  const std::vector<Store> wide = {{.offset = 8, .bytes = bytes_of(1, 24)}};
  EXPECT_EQ(contents_of(log_of(wide, AtomPolicy::kAny), AtomPolicy::kAny).size(), 8u);
  EXPECT_EQ(contents_of(log_of(wide, AtomPolicy::kAscending), AtomPolicy::kAscending).size(), 4u);
  EXPECT_EQ(contents_of(log_of(wide, AtomPolicy::kByte), AtomPolicy::kByte).size(), 8u);  // no mem* call
}

TEST(LineLog, MemCallsAreTornIntoBytesWhereAsked) {
  const std::vector<Store> copy = {{.memcall = true, .offset = 8, .bytes = bytes_of(1, 5)}};
  EXPECT_EQ(contents_of(log_of(copy, AtomPolicy::kAny), AtomPolicy::kAny).size(), 2u);
  EXPECT_EQ(contents_of(log_of(copy, AtomPolicy::kByte), AtomPolicy::kByte).size(), 32u);
}

TEST(LineLog, ALockedReadModifyWriteIsNeverTorn) {
  const std::vector<Store> rmw = {{.offset = 16, .bytes = bytes_of(1, 16), .whole = true}};
  EXPECT_EQ(contents_of(log_of(rmw, AtomPolicy::kAny), AtomPolicy::kAny).size(), 2u);
}

TEST(LineLog, NonTemporalStoresAreUnorderedButForTheirBytes) {
  const std::vector<Store> apart = {{.non_temporal = true, .offset = 0, .bytes = bytes_of(1)},
                                    {.non_temporal = true, .offset = 8, .bytes = bytes_of(11)}};
  EXPECT_EQ(contents_of(log_of(apart, AtomPolicy::kAny), AtomPolicy::kAny).size(), 4u);
  const std::vector<Store> same = {{.non_temporal = true, .offset = 0, .bytes = bytes_of(1)},
                                   {.non_temporal = true, .offset = 0, .bytes = bytes_of(11)}};
  EXPECT_EQ(contents_of(log_of(same, AtomPolicy::kAny), AtomPolicy::kAny).size(), 3u);
}

TEST(LineLog, AFenceWithoutAFlushRaisesNothing) {
  LineLog log = log_of({{.bytes = bytes_of(1)}}, AtomPolicy::kAny);
  EXPECT_FALSE(log.fence_raises(0));
  EXPECT_FALSE(log.fence(0, AtomPolicy::kAny));
  EXPECT_EQ(contents_of(log, AtomPolicy::kAny).size(), 2u);
}

TEST(LineLog, AFenceForgetsWhatItsThreadRemembered) {
  LineLog log;
  append(&log, 0, {.bytes = bytes_of(1)}, AtomPolicy::kAny);
  append(&log, 1, {.offset = 8, .bytes = bytes_of(11)}, AtomPolicy::kAny);
  log.remember(0);
  append(&log, 2, {.offset = 16, .bytes = bytes_of(21)}, AtomPolicy::kAny);
  EXPECT_TRUE(log.fence(0, AtomPolicy::kAny));
  EXPECT_FALSE(log.fence_raises(0));
  EXPECT_EQ(contents_of(log, AtomPolicy::kAny).size(), 2u);  // the third store, present or not
}

TEST(LineLog, AnotherThreadsFenceIsNotMine) {
  LineLog log;
  append(&log, 0, {.thread = 0, .bytes = bytes_of(1)}, AtomPolicy::kAny);
  log.remember(0);
  EXPECT_FALSE(log.fence(1, AtomPolicy::kAny));
  EXPECT_TRUE(log.fence(0, AtomPolicy::kAny));
  EXPECT_FALSE(log.pending());
}

TEST(LineLog, TheFloorGoesToWhoeverTakesIt) {
  LineLog log;
  append(&log, 0, {.offset = 8, .bytes = bytes_of(1)}, AtomPolicy::kAny);
  log.remember(0);
  log.fence(0, AtomPolicy::kAny);
  const Overlay floor = log.take_floor();
  EXPECT_EQ(floor.mask, uint64_t{0xff00});
  EXPECT_EQ(floor.content.bytes[8], 1);
  EXPECT_EQ(log.floor().mask, 0u);
}

TEST(LineLog, ACutMakesEverythingDurable) {
  const std::vector<Store> stores = {{.offset = 0, .bytes = bytes_of(1)},
                                     {.non_temporal = true, .offset = 4, .bytes = bytes_of(51)}};
  const LineContents after =
      with_floor(log_of(stores, AtomPolicy::kAny), AtomPolicy::kAny, [](LineLog* log) { log->settle_all(); });
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ((*after.begin())[3], 4);
  EXPECT_EQ((*after.begin())[4], 51);
}

TEST(LineLog, FirstSelectionIsEmptyAndLastIsFull) {
  const LineLog log =
      log_of({{.offset = 4, .bytes = bytes_of(1)}, {.non_temporal = true, .offset = 0, .bytes = bytes_of(51)}},
             AtomPolicy::kAny);
  std::vector<LineLog::Selection> seen;
  log.for_each(AtomPolicy::kAny, [&](const Overlay&, const LineLog::Selection& selection) {
    seen.push_back(selection);
    return true;
  });
  EXPECT_EQ(seen.front(), (LineLog::Selection{0, 0}));
  EXPECT_EQ(seen.back(), (LineLog::Selection{3, 1}));
}

TEST(LineLog, TooManyCandidatesAreCutOffAndSaidSo) {
  std::vector<Store> stores;
  for (uint32_t i = 0; i < 8; ++i)
    stores.push_back({.non_temporal = true, .offset = i * 8, .bytes = bytes_of(1 + i * 8)});
  const LineLog log = log_of(stores, AtomPolicy::kAny);
  const Content base;
  const CandidateSet part = candidates(log, {&base, 1}, AtomPolicy::kAny, 100);
  EXPECT_TRUE(part.truncated);
  EXPECT_EQ(part.contents.size(), 100u);
  EXPECT_FALSE(candidates(log, {&base, 1}, AtomPolicy::kAny, 257).truncated);
}

}  // namespace
}  // namespace powercut
