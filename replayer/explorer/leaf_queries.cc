#include "replayer/explorer/leaf_queries.h"

#include <algorithm>
#include <utility>

namespace powercut {

LeafQueries::LeafQueries(Executor* executor, Subject* subject, ExplorerCounts* counts, Stopwatch* stopwatch,
                         const Options& options, std::function<Image()> image)
    : executor_(executor),
      subject_(subject),
      counts_(counts),
      exact_(subject->wants_all()),
      views_(executor, exact_, options.all_definite),
      runs_(executor, subject, counts, stopwatch,
            {.exact = exact_, .keep_answers = options.keep_answers, .merge_after = options.merge_after},
            std::move(image)),
      bystanders_(executor, subject, counts, &views_, &runs_) {}

void LeafQueries::forget() {
  views_.forget();
  runs_.forget();
  bystanders_.forget();
  watched_.clear();
  first_leaf_ = true;
}

bool LeafQueries::newly_obliged(uint32_t code) const {
  return first_leaf_ && std::binary_search(obliged_.begin(), obliged_.end(), code);
}

void LeafQueries::begin_crash_point(const Frontier& frontier) {
  views_.begin_crash_point(frontier);
  // If no leaf could be asked at the last crash point, its obligations wait.
  if (!first_leaf_) obliged_.clear();
  for (Group group : subject_->obliged()) obliged_.push_back(code_of(group));
  sort_unique(&obliged_);
  first_leaf_ = true;
  asked_.clear();
}

absl::flat_hash_set<uint32_t> LeafQueries::asked_whole(int depth) const {
  absl::flat_hash_set<uint32_t> whole;
  if (first_leaf_) whole.insert(obliged_.begin(), obliged_.end());
  if (!views_.empty() && views_.first_depth() > depth) whole.insert(watched_.begin(), watched_.end());
  return whole;
}

void LeafQueries::visit(int depth, const std::shared_ptr<const RecoveredState>& state, bool untouched) {
  runs_.stand_at(executor_->memory().mark());
  const GroupCounts count = subject_->groups();
  views_.take(state, count, untouched);
  for (const GroupKind kind : kGroupKinds) {
    counts_->query_answers += uint64_t{count[kind]} * (count[kind] == 0 ? 0 : subject_->members({kind, 0}).size());
  }
  if (!exact_) {
    const auto [known, added] = asked_.try_emplace(views_.digest(), depth);
    if (!added && known->second <= depth) return;
    known->second = depth;
  }
  // At the first leaf of a crash point, only the first cut's view is known to have been asked under the obligations in
  // force. The obliged groups are the exception.
  const bool only_first = first_leaf_ && !obliged_.empty();
  std::vector<LeafViews::Hits> hits;  // one entry for each view that is compared
  std::vector<uint32_t> codes =
      views_.empty() ? views_.all_groups_as_new() : views_.new_groups(depth, only_first, watched_, &hits);
  const absl::flat_hash_set<uint32_t> whole = asked_whole(depth);
  for (uint32_t code : whole) {
    if (group_of(code).index < count[group_of(code).kind]) codes.push_back(code);
  }
  sort_unique(&codes);
  // The intruder comes first, the bystanders last.
  const auto rest = std::find_if(codes.begin(), codes.end(), [](uint32_t code) { return code >= kIntruderCode; });
  const bool intruder_asked = rest != codes.end() && *rest == kIntruderCode;
  codes.erase(rest, codes.end());
  if (intruder_asked && !ask_intruder(whole, depth)) {
    hits.clear();
    codes = views_.all_groups_as_new();
    codes.pop_back();
    ask_intruder(whole, depth);
  }
  ask(codes, whole, depth, nullptr);
  if (count.intrusion > 0) ask_bystanders(hits, intruder_asked, whole, depth);
  if (exact_) answer_all(depth);
  views_.keep(depth, first_leaf_, !obliged_.empty(), bystanders_.wake());
  first_leaf_ = false;
}

// ---- intruder and bystanders -----------------------------------------------------------------------

bool LeafQueries::ask_intruder(const absl::flat_hash_set<uint32_t>& whole, int depth) {
  const bool narrow = views_.may_narrow(kIntruderCode, whole);
  auto left = std::make_shared<Wake>();
  const uint64_t before = runs_.runs();
  ask({kIntruderCode}, whole, depth, left.get());
  if (left->changes_heap() && !views_.heap_followed()) {
    views_.follow_heap();
    return false;
  }
  bystanders_.intruded(std::move(left), narrow, runs_.runs() - before);
  return true;
}

void LeafQueries::ask_bystanders(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                                 const absl::flat_hash_set<uint32_t>& whole, int depth) {
  std::vector<uint32_t> watched;
  for (uint32_t code : whole) {
    if (code > kIntruderCode) watched.push_back(group_of(code).index - 1);
  }
  sort_unique(&watched);
  std::vector<uint32_t> keys = bystanders_.keys(hits, intruder_asked, watched);
  for (uint32_t key = 0; exact_ && key < views_.count().keys; ++key) {
    // A bystander's answer is the earlier one, unless the intruder or the key's first query may have changed.
    if (!intruder_asked && !std::binary_search(hits[0].keys.begin(), hits[0].keys.end(), key)) continue;
    for (QueryId query : subject_->members(bystander_group(key))) runs_.drop_answers(query);
  }
  const auto drops = [this](uint32_t code) { return exact_ || newly_obliged(code); };
  for (uint32_t code : bystanders_.ask_together(&keys, depth, drops)) watched_.insert(code);
  for (uint32_t key : keys) ask_group(bystander_code(key), depth, nullptr);
}

// ---- asking --------------------------------------------------------------------------------------

void LeafQueries::ask(const std::vector<uint32_t>& codes, const absl::flat_hash_set<uint32_t>& whole, int depth,
                      Wake* wake) {
  struct Task {
    GroupKind kind;
    bool narrow;
    uint64_t line;
    uint32_t code;
    auto operator<=>(const Task&) const = default;
  };
  std::vector<Task> tasks;
  tasks.reserve(codes.size());
  for (uint32_t code : codes) {
    const bool narrow = views_.may_narrow(code, whole);
    tasks.push_back({group_of(code).kind, narrow, narrow ? views_.state_of(code).line : 0, code});
  }
  std::sort(tasks.begin(), tasks.end());
  for (size_t i = 0; i < tasks.size();) {
    if (!tasks[i].narrow) {
      ask_group(tasks[i++].code, depth, wake);
      continue;
    }
    // Asks all groups that this line alone has hit. The line is narrowed to the contents that are new for all these
    // groups together.
    const uint64_t line = tasks[i].line;
    std::vector<uint32_t> keep = views_.new_contents(line);
    if (!keep.empty()) runs_.narrow(line, std::move(keep));
    for (; i < tasks.size() && tasks[i].narrow && tasks[i].line == line; ++i) ask_group(tasks[i].code, depth, wake);
    runs_.widen();
  }
}

void LeafQueries::ask_group(uint32_t code, int depth, Wake* wake) {
  const Group group = group_of(code);
  bool good = true;
  executor_->reads().begin(runs_.leaf().arena);
  const std::span<const QueryId> members = subject_->members(group);
  const std::vector<QueryId> queries(members.begin(), members.end());
  for (QueryId query : queries) {
    if (executor_->stopped()) break;
    runs_.begin_answers(query, exact_ || newly_obliged(code));
    const bool first = group.kind == GroupKind::kKey && views_.count().intrusion > 0 && query == queries[0];
    Wake own;
    good = runs_.run(query, depth, first ? &own : wake) && good;
    if (first) bystanders_.note_first(group.index, own);
  }
  views_.note_reads(code);
  if (!good) watched_.insert(code);
}

// Judges every query at this leaf, whether the query was run here or its answers come from an earlier leaf.
void LeafQueries::answer_all(int depth) {
  const std::vector<std::string> undisturbed{std::string(subject_->undisturbed())};
  std::vector<uint32_t> codes = views_.all_groups();
  const GroupCounts& count = views_.count();
  for (uint32_t key = 0; count.intrusion > 0 && key < count.keys; ++key) codes.push_back(bystander_code(key));
  for (uint32_t code : codes) {
    const std::span<const QueryId> members = subject_->members(group_of(code));
    for (QueryId query : std::vector<QueryId>(members.begin(), members.end())) {
      const std::vector<std::string>* known = runs_.answers(query);
      for (const std::string& result : known == nullptr ? undisturbed : *known) {
        if (subject_->answered(depth, query, result) == Subject::Judgement::kExplain) {
          runs_.explain(depth, query, result);
        }
      }
    }
  }
}

const std::vector<std::string>& LeafQueries::answers(QueryId query) const {
  static const std::vector<std::string> none;
  const std::vector<std::string>* known = runs_.answers(query);
  return known == nullptr ? none : *known;
}

}  // namespace powercut
