// The views that queries were asked on, and the groups of queries for which a leaf is new. A *view* is all that a query
// can find at a leaf: the possible contents of lines, the heap and the globals. Some views that were asked are kept;
// comparing the leaf at hand with one gives the groups of queries that may answer something new, and the lines that
// make them new.
#ifndef POWERCUT_REPLAYER_EXPLORER_LEAF_VIEWS_H_
#define POWERCUT_REPLAYER_EXPLORER_LEAF_VIEWS_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/explorer/explorer.h"
#include "replayer/search/read_index.h"
#include "replayer/search/recovery_trie.h"
#include "replayer/undecided/novelty.h"

namespace powercut {

// Lines of the target's heap, beside the lines of the pool.
inline constexpr uint64_t kHeapLine = uint64_t{1} << 40;

// The bytes that an execution leaves changed: line -> mask of bytes, of pool and heap as in the read index.
struct Wake {
  absl::flat_hash_map<uint64_t, uint64_t> lines;
  bool globals = false;
  void add(const WriteSet& writes);
  void add(const Wake& other);
  bool empty() const { return lines.empty() && !globals; }
  bool changes_heap() const;
};

class LeafViews {
 public:
  struct GroupState {
    ReadIndex::Reads reads;
    uint32_t stamp = 0;   // number of the comparison that hit the group last
    uint64_t line = 0;    // the line that hit the group
    bool narrow = false;  // one line of the pool alone hit it
  };
  // Groups that may answer something new compared with one view: the intruder, and keys by their first query or their
  // bystander; ascending.
  struct Hits {
    bool intruder = false;
    std::vector<uint32_t> keys;
  };

  // `exact`: every query is judged at every leaf, so the views hold the very sets of contents. `all_definite`: at the
  // first cut the pool holds every line.
  LeafViews(Executor* executor, bool exact, bool all_definite);

  void forget();
  // Tells that the trace changed a line's contents.
  void trace_changed(const Frontier::Change& change);
  void begin_crash_point(const Frontier& frontier) { frontier_ = &frontier; }

  // Takes the view of the leaf that the executor stands at. `untouched`: the leaf's view is the crash point's.
  void take(const std::shared_ptr<const RecoveredState>& state, const GroupCounts& count, bool untouched);
  uint64_t digest() const;
  const GroupCounts& count() const { return count_; }

  bool empty() const { return views_.empty(); }
  // The depth of the first view, and what an intruder left changed in a view.
  int first_depth() const { return views_[0].depth; }
  const std::shared_ptr<const Wake>& wake(size_t view) const { return views_[view].wake; }
  // Returns the codes of all groups but the bystanders, which follow from the others; ascending.
  std::vector<uint32_t> all_groups() const;
  // Returns all_groups(), and marks each group as to be asked on all contents.
  std::vector<uint32_t> all_groups_as_new();
  // Returns the groups that may answer something new compared with every view, ascending; `hits` gets the hits of each
  // view. With `only_first` the leaf is compared with the first view alone. `watched`: groups that were ever answered
  // badly.
  std::vector<uint32_t> new_groups(int depth, bool only_first, const absl::flat_hash_set<uint32_t>& watched,
                                   std::vector<Hits>* hits);
  // Returns whether a hit group may be asked on the new contents of one line alone.
  bool may_narrow(uint32_t code, const absl::flat_hash_set<uint32_t>& whole);
  // Returns the new contents of a line that hit a group which may be narrowed; none if all contents are new.
  std::vector<uint32_t> new_contents(uint64_t line) const;

  // Keeps the view at hand. `first`: it is the first view of a crash point; `obliged`: the view was asked under new
  // obligations.
  void keep(int depth, bool first, bool obliged, std::shared_ptr<const Wake> wake);
  // Follows reads of the heap from now on. Called when the heap first differs between two leaves: in most runs it never
  // does, and reads of the heap are the most frequent. Forgets all views, whose reads of the heap are unknown.
  void follow_heap();
  bool heap_followed() const { return heap_followed_; }

  GroupState& state_of(uint32_t code);
  // Notes the reads since the executor's log began as reads of a group.
  void note_reads(uint32_t code) { note_reads(&index_, group_of(code), &state_of(code).reads); }
  void note_reads(ReadIndex* index, Group group, ReadIndex::Reads* reads) const;

 private:
  // The contents of a line before the trace changed it.
  struct Since {
    std::vector<Content> contents;
    uint32_t prefix = 0;  // not 0: the number of today's contents that the line had already
  };
  struct View {
    absl::flat_hash_map<uint64_t, std::vector<Content>> own;  // lines that recovery or nested cuts made different
    absl::flat_hash_map<uint64_t, Since> since;
    std::shared_ptr<const RecoveredState> state;
    GroupCounts groups;
    int depth = 0;
    std::shared_ptr<const Wake> wake;  // null: there is no intruder
  };
  // Each returns the contents of a line of the pool: at the crash point, in the view at hand, and in an earlier view.
  Contents base(uint64_t line) const;
  Contents now(uint64_t line) const;
  Contents then(const View& view, uint64_t line) const;
  // Returns the codes of the groups that may answer something new compared with `view`, ascending; marks them in their
  // states.
  std::vector<uint32_t> differ(const View& view);
  void differ_in(uint64_t line, const Novelty& novelty, bool pool, std::vector<uint32_t>* out);
  static Hits hits_of(const View& view, const std::vector<uint32_t>& codes, int depth,
                      const absl::flat_hash_set<uint32_t>& watched);

  Executor* executor_;
  const bool exact_, all_definite_;
  const Frontier* frontier_ = nullptr;
  std::array<std::vector<GroupState>, kGroupKinds.size()> groups_;
  ReadIndex index_;
  bool heap_followed_ = false, heap_differs_ = false;
  std::vector<View> views_;  // [0]: of a first cut
  size_t next_view_ = 1;

  // The fields below belong to the leaf at hand.
  absl::flat_hash_map<uint64_t, std::vector<Content>> own_;
  absl::flat_hash_map<uint64_t, Content> before_;  // content of touched lines in the pool at the first cut
  std::shared_ptr<const RecoveredState> state_;
  GroupCounts count_;
  absl::flat_hash_map<uint64_t, Novelty> new_in_;  // line -> its new contents, for narrowing
  uint32_t stamp_ = 0;
};

void sort_unique(std::vector<uint32_t>* list);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_LEAF_VIEWS_H_
