// The distinct contents that the pending stores of a line allow, in a fixed order.
//
// Without non-temporal stores they are made store by store: after each whole prefix of the chain come the proper
// subsets of the next store's atoms, then that store whole. What a store adds is decided by the content of the prefix
// before it and by which contents there are already, never by a later store, so a store that is appended appends
// contents and moves none: a chain costs its new contents, however long it is. A non-temporal store can persist
// before earlier stores, so with one of them the set is made anew.
#ifndef POWERCUT_REPLAYER_MODELS_CANDIDATES_H_
#define POWERCUT_REPLAYER_MODELS_CANDIDATES_H_

#include <vector>

#include "replayer/models/line_log.h"

namespace powercut {

// Finds equal contents. Looks at all while they are few, then keeps a hash table of what it was not yet told of.
class ContentIndex {
 public:
  // Where `content` is in `contents`; appended when it is new.
  uint32_t add(const Content& content, std::vector<Content>* contents);
  void clear();

 private:
  void index_all(const std::vector<Content>& contents);
  size_t place_of(const Content& content, const std::vector<Content>& contents) const;

  std::vector<uint32_t> table_;  // open addressing, a power of two; index + 1, or 0
  size_t indexed_ = 0;           // contents in the table
};

// The set of a chain, as it grows. The contents are the caller's, so that they can be of more than one base.
class ChainCandidates {
 public:
  // Begins over `base`, which holds the floor: the contents of earlier bases stay.
  void start(const Content& base, size_t limit, std::vector<Content>* contents);
  // Adds what the stores that it has not seen allow. They are cacheable.
  void extend(const std::vector<PendingStore>& stores, AtomPolicy policy, size_t limit, std::vector<Content>* contents);
  void clear();

  uint32_t visible() const { return visible_; }  // everything persisted, over the last base
  // The limit was reached: nothing more is added.
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

// The distinct contents that `log` allows over each of `bases`: the first is the first base with nothing more
// persisted. Sets `truncated` and stops at `limit` contents.
struct CandidateSet {
  std::vector<Content> contents;
  std::vector<uint32_t> base;  // index of the base that each content stands on
  uint32_t visible = 0;        // the content of the first base with everything persisted
  bool truncated = false;
};
CandidateSet candidates(const LineLog& log, std::span<const Content> bases, AtomPolicy policy, size_t limit);

// Whether making `durable` durable takes a content away. `base` holds the floor. `durable`: what one of the log's
// durable_by_...() gave. True also where a set is wider than `limit`.
bool shrinks(const LineLog& log, const LineLog::Selection& durable, const Content& base, AtomPolicy policy,
             size_t limit);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_CANDIDATES_H_
