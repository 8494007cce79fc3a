// The distinct contents that the pending stores of a line allow, in a fixed order.
//
// Without non-temporal stores the contents are made store by store. After each whole prefix of the chain come the
// proper subsets of the next store's atoms, then this store whole. The contents that a store adds depend on the prefix
// before it and on the contents so far, never on a later store. Therefore an appended store appends contents and moves
// none: a chain costs its new contents, however long the chain is. A non-temporal store can persist before earlier
// stores, so with a non-temporal store the whole set is made anew.
#ifndef POWERCUT_REPLAYER_MODELS_CANDIDATES_H_
#define POWERCUT_REPLAYER_MODELS_CANDIDATES_H_

#include <vector>

#include "replayer/models/line_log.h"

namespace powercut {

// Finds equal contents. A few contents are compared one by one. Many contents are found by a hash table, which first
// takes in the contents that it lacks.
class ContentIndex {
 public:
  // Returns the index of `content` in `contents`; appends a new content.
  uint32_t add(const Content& content, std::vector<Content>* contents);
  void clear();

 private:
  void index_all(const std::vector<Content>& contents);
  size_t place_of(const Content& content, const std::vector<Content>& contents) const;

  std::vector<uint32_t> table_;  // open addressing, a power of two; index + 1, or 0
  size_t indexed_ = 0;           // contents in the table
};

// The set of contents of a chain, as the chain grows. The caller owns the contents, so that one list can have contents
// of several bases.
class ChainCandidates {
 public:
  // Begins anew over `base`, which has the floor; the contents of earlier bases stay in `contents`.
  void start(const Content& base, size_t limit, std::vector<Content>* contents);
  // Adds the contents that the stores not seen so far allow. All these stores are cacheable.
  void extend(const std::vector<PendingStore>& stores, AtomPolicy policy, size_t limit, std::vector<Content>* contents);
  void clear();

  uint32_t visible() const { return visible_; }  // index of the content with everything persisted, over the last base
  // Returns whether the limit was reached: nothing more is added then.
  bool truncated() const { return truncated_; }

 private:
  bool add(const Content& content, bool distinct, size_t limit, std::vector<Content>* contents);
  bool add_store(const PendingStore& store, AtomPolicy policy, size_t limit, std::vector<Content>* contents);

  ContentIndex index_;
  Content prefix_;    // the stores seen, whole
  size_t seen_ = 0;   // stores
  size_t steps_ = 0;  // contents made, equal ones too
  uint32_t visible_ = 0;
  bool truncated_ = false;
};

// The distinct contents that a log allows over each of some bases. The first content is the first base with nothing
// more persisted.
struct CandidateSet {
  std::vector<Content> contents;
  std::vector<uint32_t> base;  // index of the base that each content stands on
  uint32_t visible = 0;        // index of the first base's content with everything persisted
  bool truncated = false;
};
CandidateSet candidates(const LineLog& log, std::span<const Content> bases, AtomPolicy policy, size_t limit);

// Returns whether a content goes if `durable` becomes durable. `base` has the floor. `durable` comes from one of the
// log's functions durable_by_...(). Returns true also if a set is wider than `limit`.
bool shrinks(const LineLog& log, const LineLog::Selection& durable, const Content& base, AtomPolicy policy,
             size_t limit);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_CANDIDATES_H_
