#include "replayer/explorer/leaf_queries.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <utility>

#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Lines of the target's heap, beside the lines of the pool.
constexpr uint64_t kHeapLine = uint64_t{1} << 40;
// Worlds for a query that asked for something of the world: for the first such runs of a chunk, and for the others.
constexpr uint64_t kManyWorlds = 16, kSomeWorlds = 2, kRunsInManyWorlds = 8;
// Views that are kept besides that of the first cut.
constexpr size_t kViews = 3;
// Digests of one query's answers that are kept.
constexpr size_t kMostSeen = size_t{1} << 22;

constexpr uint32_t kIntruder = uint32_t{3} << 30;
uint32_t bystander_of(uint32_t key) { return code_of({3, key + 1}); }

std::vector<uint32_t> in_both(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<uint32_t> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
std::vector<uint32_t> in_either(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<uint32_t> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
void sort_unique(std::vector<uint32_t>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

}  // namespace

LeafQueries::LeafQueries(Executor* executor, Subject* subject, ExplorerCounts* counts, Stopwatch* stopwatch,
                         const Options& options, std::function<Image()> image)
    : executor_(executor),
      subject_(subject),
      counts_(counts),
      stopwatch_(stopwatch),
      options_(options),
      image_(std::move(image)),
      exact_(subject->wants_all()),
      search_(executor, &buffer_),
      body_([this] { subject_->run(query_, &buffer_); }) {
  search_.merge_after(options.merge_after);
  executor->reads().want_heap(false);
}

void LeafQueries::forget() {
  for (auto& states : groups_) states.clear();
  index_ = {};
  firsts_ = {};
  first_reads_.clear();
  restless_.clear();
  views_.clear();
  watched_.clear();
  answers_.clear();
  next_view_ = 1;
  first_leaf_ = true;
  heap_followed_ = false;
  ran_ = {};
  asking_runs_ = 0;
  executor_->reads().want_heap(false);
}

bool LeafQueries::newly_obliged(uint32_t code) const {
  return first_leaf_ && std::binary_search(obliged_.begin(), obliged_.end(), code);
}

LeafQueries::GroupState& LeafQueries::state_of(uint32_t code) {
  const Group group = group_of(code);
  std::vector<GroupState>& states = groups_[group.kind];
  if (states.size() <= group.index) states.resize(std::max<size_t>(group.index + 1, states.size() * 3 / 2));
  return states[group.index];
}

void LeafQueries::trace_changed(const Frontier::Change& change) {
  for (View& view : views_) {
    const auto [at, added] = view.since.try_emplace(change.line);
    Since& since = at->second;
    if (added) {
      if (change.grew) {
        since.prefix = change.old_count;
      } else {
        since.contents = change.before.contents;
      }
    } else if (since.prefix != 0 && !change.grew) {
      const auto& old = change.before.contents;
      since.contents.assign(old.begin(), old.begin() + since.prefix);
      since.prefix = 0;
    }
  }
}

void LeafQueries::begin_crash_point(const Frontier& frontier) {
  frontier_ = &frontier;
  // Where no leaf could be asked, the obligations wait.
  if (!first_leaf_) obliged_.clear();
  for (Group group : subject_->obliged()) obliged_.push_back(code_of(group));
  std::sort(obliged_.begin(), obliged_.end());
  obliged_.erase(std::unique(obliged_.begin(), obliged_.end()), obliged_.end());
  first_leaf_ = true;
  asked_.clear();
}

// ---- views ---------------------------------------------------------------------------------------

Contents LeafQueries::base(uint64_t line) const {
  const LineSet* set = options_.all_definite ? nullptr : frontier_->find(line);
  if (set != nullptr) return set->contents;
  if (const auto touched = before_.find(line); touched != before_.end()) return {&touched->second, 1};
  return {reinterpret_cast<const Content*>(executor_->pool() + line * kLineSize), 1};
}

Contents LeafQueries::now(uint64_t line) const {
  const auto own = own_.find(line);
  return own != own_.end() ? Contents(own->second) : base(line);
}

Contents LeafQueries::then(const View& view, uint64_t line) const {
  if (const auto own = view.own.find(line); own != view.own.end()) return own->second;
  const auto since = view.since.find(line);
  if (since == view.since.end()) return base(line);
  if (since->second.prefix != 0) return base(line).first(since->second.prefix);
  return since->second.contents;
}

void LeafQueries::take_view(const std::shared_ptr<const RecoveredState>& state, bool untouched) {
  own_.clear();
  before_.clear();
  state_ = state;
  count_ = subject_->groups();
  if (untouched) return;
  for (const UndecidedMemory::Touched& touched : executor_->memory().touched()) {
    before_.emplace(touched.line, touched.before);
    own_.emplace(touched.line, executor_->memory().contents(touched.line));
  }
}

uint64_t LeafQueries::view_digest() const {
  uint64_t lines = 0;  // a sum, since the order of the map is arbitrary
  for (const auto& [line, contents] : own_) {
    lines += XXH3_64bits_withSeed(contents.data(), contents.size() * sizeof(Content), line * 0x9E3779B97F4A7C15 + 1);
  }
  const std::array<uint64_t, 4> rest = {
      lines, XXH3_64bits(state_->heap.data(), state_->heap.size()),
      XXH3_64bits_withSeed(state_->globals.data(), state_->globals.size() * 16, state_->opened.table),
      state_->opened.regions};
  return XXH3_64bits(rest.data(), sizeof rest);
}

// All but the bystanders, which follow from the others.
void LeafQueries::all_groups(std::vector<uint32_t>* out) const {
  for (uint8_t kind = 0; kind < 3; ++kind) {
    for (uint32_t i = 0; i < count_[kind]; ++i) out->push_back(code_of({kind, i}));
  }
  if (count_[3] > 0) out->push_back(kIntruder);
}

void LeafQueries::differ_in(uint64_t line, const Novelty& novelty, bool pool, std::vector<uint32_t>* out) {
  const ReadIndex::Readers* readers = index_.find(line);
  if (readers == nullptr || !novelty.in(readers->any)) return;
  const auto hit = [&](uint32_t code, bool alone) {
    const Group group = group_of(code);
    if (group.index >= count_[group.kind]) return;
    GroupState& state = state_of(code);
    if (state.stamp != stamp_) {
      state.stamp = stamp_;
      state.narrow = alone;
      state.line = line;
      out->push_back(code);
    } else {
      state.narrow = false;
    }
  };
  if (readers->everyone) {
    std::vector<uint32_t> all;
    all_groups(&all);
    for (uint32_t code : all) hit(code, false);
    return;
  }
  for (const ReadIndex::Reader& reader : readers->groups) {
    if (novelty.in(reader.mask())) hit(reader.group, pool);
  }
}

std::vector<uint32_t> LeafQueries::differ(const View& view) {
  std::vector<uint32_t> out;
  ++stamp_;
  new_in_.clear();
  if (view.state->opened.table != state_->opened.table || view.state->globals != state_->globals) {
    all_groups(&out);
    for (uint32_t code : out) state_of(code).narrow = false;
    return out;
  }
  // A bystander is as new as its key.
  for (uint8_t kind = 0; kind < 3; ++kind) {
    for (uint32_t i = view.groups[kind]; i < count_[kind]; ++i) {
      GroupState& state = state_of(code_of({kind, i}));
      state.stamp = stamp_;
      state.narrow = false;
      out.push_back(code_of({kind, i}));
    }
  }
  absl::flat_hash_set<uint64_t> done;
  const auto compare = [&](uint64_t line) {
    if (!done.insert(line).second || index_.find(line) == nullptr) return;
    const Novelty novelty(then(view, line), now(line), exact_);
    if (novelty.any() == 0) return;
    differ_in(line, novelty, true, &out);
    new_in_.emplace(line, novelty);
  };
  for (const auto& [line, since] : view.since) compare(line);
  for (const auto& [line, contents] : view.own) compare(line);
  for (const auto& [line, contents] : own_) compare(line);

  const std::vector<uint8_t>&was = view.state->heap, &is = state_->heap;
  if (view.state != state_ && was != is && !heap_followed_) {
    heap_differs_ = true;
    out.clear();
    all_groups(&out);
    for (uint32_t code : out) state_of(code).narrow = false;
    return out;
  }
  if (view.state != state_ && was != is) {
    for (size_t at = 0; at < std::max(was.size(), is.size()); at += kLineSize) {
      Content before{}, after{};
      if (at < was.size()) std::memcpy(before.bytes.data(), &was[at], std::min(kLineSize, was.size() - at));
      if (at < is.size()) std::memcpy(after.bytes.data(), &is[at], std::min(kLineSize, is.size() - at));
      if (before == after) continue;
      differ_in(kHeapLine + at / kLineSize, Novelty({&before, 1}, {&after, 1}), false, &out);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void LeafQueries::keep_view(int depth) {
  View view{std::move(own_), {}, state_, count_, depth, wake_};
  own_.clear();
  if (exact_ || views_.empty()) {
    views_.clear();
    views_.push_back(std::move(view));
  } else if (first_leaf_ && (depth == 0 || !obliged_.empty())) {
    views_[0] = std::move(view);
    // The others were asked under obligations that no longer hold.
    if (!obliged_.empty()) views_.resize(1);
  } else if (views_.size() <= kViews) {
    views_.push_back(std::move(view));
  } else {
    views_[next_view_] = std::move(view);
    next_view_ = next_view_ % kViews + 1;
  }
  first_leaf_ = false;
}

// ---- asking --------------------------------------------------------------------------------------

void LeafQueries::visit(int depth, const std::shared_ptr<const RecoveredState>& state, bool untouched) {
  leaf_ = executor_->memory().mark();
  take_view(state, untouched);
  for (uint8_t kind = 0; kind < Group::kKinds; ++kind) {
    counts_->query_answers += uint64_t{count_[kind]} * (count_[kind] == 0 ? 0 : subject_->members({kind, 0}).size());
  }
  if (!exact_) {
    const auto [known, added] = asked_.try_emplace(view_digest(), depth);
    if (!added && known->second <= depth) return;
    known->second = depth;
  }
  std::vector<uint32_t> codes;
  std::vector<Hits> hits;  // one for each view that is compared with
  if (views_.empty()) {
    all_groups(&codes);
    for (uint32_t code : codes) state_of(code).narrow = false;
  } else {
    // Before the first leaf of a crash point only the first cut's view is known to have been asked under the
    // obligations of all groups but the obliged ones.
    heap_differs_ = false;
    codes = differ(views_[0]);
    if (heap_differs_) {
      heap_followed_ = true;
      executor_->reads().want_heap(true);
      views_.clear();  // nobody knows what of the heap was read in them
    } else {
      hits.push_back(hits_of(views_[0], codes, depth));
    }
    auto narrowing = std::move(new_in_);
    const uint32_t stamp = stamp_;
    for (size_t i = 1; i < views_.size() && !codes.empty() && (!first_leaf_ || obliged_.empty()); ++i) {
      const std::vector<uint32_t> others = differ(views_[i]);
      hits.push_back(hits_of(views_[i], others, depth));
      std::vector<uint32_t> both;
      std::copy_if(codes.begin(), codes.end(), std::back_inserter(both), [&](uint32_t code) {
        return std::binary_search(others.begin(), others.end(), code) ||
               (views_[i].depth > depth && watched_.contains(code));
      });
      codes = std::move(both);
    }
    if (stamp_ != stamp) {
      // The comparisons with other views have overwritten which line hit a group: do the first one again.
      differ(views_[0]);
    } else {
      new_in_ = std::move(narrowing);
    }
  }
  absl::flat_hash_set<uint32_t> whole;
  if (first_leaf_) whole.insert(obliged_.begin(), obliged_.end());
  if (!views_.empty() && views_[0].depth > depth) whole.insert(watched_.begin(), watched_.end());
  for (uint32_t code : whole) {
    if (group_of(code).index < count_[group_of(code).kind]) codes.push_back(code);
  }
  sort_unique(&codes);
  // The intruder comes first, the bystanders last.
  const auto rest = std::find_if(codes.begin(), codes.end(), [](uint32_t code) { return code >= kIntruder; });
  const bool intruder_asked = rest != codes.end() && *rest == kIntruder;
  codes.erase(rest, codes.end());
  if (intruder_asked && !ask_intruder(whole, depth)) {
    hits.clear();
    codes.clear();
    all_groups(&codes);
    for (uint32_t code : codes) state_of(code).narrow = false;
    codes.pop_back();
    ask_intruder(whole, depth);
  }
  ask(codes, whole, depth);
  if (count_[3] > 0) {
    std::vector<uint32_t> watched;
    for (uint32_t code : whole) {
      if (code > kIntruder) watched.push_back(group_of(code).index - 1);
    }
    sort_unique(&watched);
    ask_bystanders(hits, intruder_asked, watched, depth);
  }
  if (exact_) answer_all(depth);
  keep_view(depth);
}

// ---- intruder and bystanders -----------------------------------------------------------------------

LeafQueries::Hits LeafQueries::hits_of(const View& view, const std::vector<uint32_t>& codes, int depth) const {
  Hits out;
  const auto add = [&out](uint32_t code) {
    const Group group = group_of(code);
    out.intruder = out.intruder || code == kIntruder;
    if (group.kind == 0) out.keys.push_back(group.index);
    if (code > kIntruder) out.keys.push_back(group.index - 1);
  };
  for (uint32_t code : codes) add(code);
  if (view.depth > depth) {
    for (uint32_t code : watched_) {
      if (code >= kIntruder) add(code);
    }
  }
  sort_unique(&out.keys);
  return out;
}

bool LeafQueries::may_narrow(uint32_t code, const absl::flat_hash_set<uint32_t>& whole) {
  const GroupState& state = state_of(code);
  // Of a line that recovery stored to, the candidates are not the contents: it is not narrowed.
  return !exact_ && state.narrow && !whole.contains(code) && !own_.contains(state.line);
}

void LeafQueries::Wake::add(const WriteSet& writes) {
  globals = globals || writes.globals;
  for (const auto& [line, mask] : writes.pool) lines[line] |= mask;
  for (const auto& [line, mask] : writes.heap) lines[kHeapLine + line] |= mask;
}

void LeafQueries::Wake::add(const Wake& other) {
  globals = globals || other.globals;
  for (const auto& [line, mask] : other.lines) lines[line] |= mask;
}

bool LeafQueries::ask_intruder(const absl::flat_hash_set<uint32_t>& whole, int depth) {
  const bool narrow = may_narrow(kIntruder, whole);
  auto left = std::make_shared<Wake>();
  taken_ = left.get();
  const uint64_t before = search_.runs();
  ask({kIntruder}, whole, depth);
  intruder_runs_ = search_.runs() - before;
  taken_ = nullptr;
  const bool heap =
      std::any_of(left->lines.begin(), left->lines.end(), [](const auto& entry) { return entry.first >= kHeapLine; });
  if (heap && !heap_followed_) {
    heap_followed_ = true;
    executor_->reads().want_heap(true);
    views_.clear();
    return false;
  }
  new_wake_ = wake_ = left;
  if (!narrow) return true;
  // On the contents that it was not asked on it does what it did before.
  auto all = std::make_shared<Wake>(*views_[0].wake);
  all->add(*left);
  wake_ = all;
  return true;
}

// Keys whose first query loads bytes that were stored.
std::vector<uint32_t> LeafQueries::disturbed(const Wake& wake) const {
  std::vector<uint32_t> out;
  bool all = wake.globals;
  for (const auto& [line, mask] : wake.lines) {
    const ReadIndex::Readers* readers = firsts_.find(line);
    if (readers == nullptr || (readers->any & mask) == 0) continue;
    all = all || readers->everyone;
    for (const ReadIndex::Reader& reader : readers->groups) {
      if ((reader.mask() & mask) != 0 && group_of(reader.group).index < count_[0]) {
        out.push_back(group_of(reader.group).index);
      }
    }
  }
  for (uint32_t key : restless_) {
    if (key < count_[0]) out.push_back(key);
  }
  if (all) {
    out.clear();
    for (uint32_t key = 0; key < count_[0]; ++key) out.push_back(key);
  }
  sort_unique(&out);
  return out;
}

void LeafQueries::forget_bystander(uint32_t key) {
  for (QueryId query : subject_->members(group_of(bystander_of(key)))) answers_.erase(query);
}

void LeafQueries::ask_bystanders(const std::vector<Hits>& hits, bool intruder_asked,
                                 const std::vector<uint32_t>& watched, int depth) {
  if (!intruder_asked) {
    // Some view has all that it does here.
    const auto known = std::find_if(hits.begin(), hits.end(), [](const Hits& hit) { return !hit.intruder; });
    wake_ = views_[known == hits.end() ? 0 : static_cast<size_t>(known - hits.begin())].wake;
  }
  const std::vector<uint32_t> all = disturbed(*wake_);
  std::vector<uint32_t> keys = all;
  for (size_t i = 0; i < hits.size(); ++i) {
    std::vector<uint32_t> here;
    if (hits[i].intruder) here = i == 0 && intruder_asked ? disturbed(*new_wake_) : all;
    keys = in_both(keys, in_either(here, in_both(all, hits[i].keys)));
  }
  keys = in_either(keys, in_both(all, watched));
  if (exact_) {
    // What a bystander answered before is what it answers now, unless one of the two may have changed.
    for (uint32_t key = 0; key < count_[0]; ++key) {
      if (intruder_asked || std::binary_search(hits[0].keys.begin(), hits[0].keys.end(), key)) forget_bystander(key);
    }
  }
  std::vector<uint32_t> together;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(together),
               [this](uint32_t key) { return !restless_.contains(key); });
  const bool few = intruder_runs_ <= QuerySearch::kMergeAfter;
  if (few && together.size() > 1 && ask_together(together, depth)) {
    std::erase_if(keys, [this](uint32_t key) { return !restless_.contains(key); });
  }
  for (uint32_t key : keys) ask_group(bystander_of(key), depth);
}

// Where a key's first query changes nothing, the intruder does behind it what it does without it. So the intruder is
// executed once. Behind each of its ways the first query of every key is asked, and each of these ways narrows the
// lines; on what is left of them the first query is then asked without the intruder. Both have seen the same images.
bool LeafQueries::ask_together(const std::vector<uint32_t>& keys, int depth) {
  // What the first query gives behind one way of the intruder, and what is left of the lines then.
  struct After {
    std::vector<Narrowed> left;
    Outcome outcome;
    std::string answer;
  };
  struct Bystander {
    uint32_t code;
    QueryId first, query;
    std::vector<After> after = {};
    absl::flat_hash_set<uint64_t> seen = {};  // digests of its answers
    bool good = true;
  };
  std::vector<Bystander> bystanders;
  for (uint32_t key : keys) {
    const uint32_t code = bystander_of(key);
    const QueryId first = subject_->members({0, key})[0], query = subject_->members(group_of(code))[0];
    if (exact_ || newly_obliged(code)) answers_.erase(query);
    bystanders.push_back({.code = code, .first = first, .query = query});
  }
  UndecidedMemory& memory = executor_->memory();
  const QueryId intruder = subject_->members(group_of(kIntruder))[0];
  QuerySearch search(executor_, &buffer_), other(executor_, &buffer_);
  search.merge_after(options_.merge_after);
  other.merge_after(options_.merge_after);
  bool asks_the_world = false;

  const auto ask = [&](const Bystander& bystander, absl::FunctionRef<void(Outcome*)> ended) {
    query_ = bystander.first;
    other.run(body_, [&](Outcome* outcome, const Decisions*) {
      asks_the_world = asks_the_world || std::exchange(virtual_world.used, 0) != 0;
      finish_answer(executor_, outcome, &buffer_);
      ended(outcome);
      return true;
    });
  };
  // Its answer is in the buffer.
  const auto answered = [&](Bystander* bystander, const Outcome& outcome) {
    const uint64_t digest = XXH3_64bits(buffer_.view().data(), buffer_.view().size());
    if (!bystander->seen.insert(digest).second) return;
    const QueryId before = std::exchange(query_, bystander->query);
    Answers* answers = exact_ || options_.keep_answers ? &answers_[query_] : nullptr;
    bystander->good = judge(depth, outcome, answers) && bystander->good;
    query_ = before;
  };
  const auto undisturbed = [&](Bystander* bystander) {
    buffer_.clear();
    buffer_.put(subject_->undisturbed().data(), subject_->undisturbed().size());
    answered(bystander, Outcome{});
  };
  query_ = intruder;
  const bool complete = search.run(
      body_,
      [&](Outcome* outcome, const Decisions*) {
        asks_the_world = asks_the_world || std::exchange(virtual_world.used, 0) != 0;
        if (asks_the_world) return false;
        for (Bystander& bystander : bystanders) {
          bystander.after.clear();
          if (!outcome->returned()) {
            undisturbed(&bystander);
            continue;
          }
          executor_->reads().begin(leaf_.arena);
          ask(bystander, [&](Outcome* after) {
            bystander.after.push_back({memory.narrowed(leaf_.decided), std::move(*after), std::string(buffer_.view())});
          });
          note_reads(&index_, group_of(bystander.code), &state_of(bystander.code).reads);
        }
        memory.undo(leaf_);
        for (Bystander& bystander : bystanders) {
          executor_->reads().begin(leaf_.arena);
          for (const After& after : bystander.after) {
            for (const Narrowed& line : after.left) memory.keep_only(line.set->line, line.alive);
            ask(bystander, [&](Outcome* before) {
              if (!before->returned()) return undisturbed(&bystander);
              const size_t size = buffer_.view().size();
              if (!after.outcome.returned()) buffer_.clear();
              buffer_.put(after.answer.data(), after.answer.size());
              if (after.outcome.returned()) subject_->noticed(size, &buffer_);
              answered(&bystander, after.outcome);
            });
            memory.undo(leaf_);
          }
          note_reads(&index_, group_of(bystander.code), &state_of(bystander.code).reads);
        }
        query_ = intruder;
        return !asks_the_world;
      },
      QuerySearch::kMergeAfter);
  intruder_runs_ = search.runs();
  counts_->query_runs += search.runs() + other.runs();
  for (const Bystander& bystander : bystanders) {
    if (!bystander.good) watched_.insert(bystander.code);
  }
  return complete && !asks_the_world;
}

void LeafQueries::ask(const std::vector<uint32_t>& codes, const absl::flat_hash_set<uint32_t>& whole, int depth) {
  struct Task {
    uint8_t kind;
    bool narrow;
    uint64_t line;
    uint32_t code;
    auto operator<=>(const Task&) const = default;
  };
  std::vector<Task> tasks;
  tasks.reserve(codes.size());
  for (uint32_t code : codes) {
    const bool narrow = may_narrow(code, whole);
    tasks.push_back({group_of(code).kind, narrow, narrow ? state_of(code).line : 0, code});
  }
  std::sort(tasks.begin(), tasks.end());
  const UndecidedMemory::Mark leaf = leaf_;
  for (size_t i = 0; i < tasks.size();) {
    if (!tasks[i].narrow) {
      ask_group(tasks[i++].code, depth);
      continue;
    }
    // All groups that this line alone has hit. Narrowed to what is new for all of them together.
    const uint64_t line = tasks[i].line;
    const Novelty& novelty = new_in_.at(line);
    std::vector<uint32_t> keep = novelty.contents_in(~uint64_t{0});
    const bool narrowed = !keep.empty() && keep.size() < base(line).size();
    if (narrowed) {
      narrowing_ = {line, std::move(keep), leaf};
      executor_->memory().keep_only(line, narrowing_->keep);
      leaf_ = executor_->memory().mark();
    }
    for (; i < tasks.size() && tasks[i].narrow && tasks[i].line == line; ++i) {
      ask_group(tasks[i].code, depth);
    }
    narrowing_.reset();
    leaf_ = leaf;
    executor_->memory().undo(leaf);
  }
}

void LeafQueries::ask_group(uint32_t code, int depth) {
  const Group group = group_of(code);
  bool good = true;
  executor_->reads().begin(leaf_.arena);
  const std::span<const QueryId> members = subject_->members(group);
  const std::vector<QueryId> queries(members.begin(), members.end());
  for (QueryId query : queries) {
    if (executor_->stopped()) break;
    Answers* results = exact_ || options_.keep_answers ? &answers_[query] : nullptr;
    if (results != nullptr && (exact_ || newly_obliged(code))) *results = {};
    const bool first = group.kind == 0 && count_[3] > 0 && query == queries[0];
    Wake own;
    if (first) taken_ = &own;
    good = run(query, depth, results) == Subject::Judgement::kGood && good;
    if (!first) continue;
    taken_ = nullptr;
    if (!own.empty()) restless_.insert(group.index);
    if (first_reads_.size() <= group.index) first_reads_.resize(count_[0]);
    note_reads(&firsts_, group, &first_reads_[group.index]);
  }
  GroupState& state = state_of(code);
  note_reads(&index_, group, &state.reads);
  if (!good) watched_.insert(code);
}

void LeafQueries::note_reads(ReadIndex* index, Group group, ReadIndex::Reads* reads) {
  const ReadLog& done = executor_->reads();
  for (uint64_t line : done.lines()) index->note(group, reads, line, done.mask(line));
  absl::InlinedVector<std::pair<uint64_t, uint64_t>, 8> heap;  // line, mask
  size_t last = 0;                                             // of them: the next word mostly lies in the same line
  for (uint64_t word : done.words()) {
    const uint64_t offset = word - executor_->memory().heap_begin();
    const uint64_t line = kHeapLine + offset / kLineSize;
    const uint64_t bits = done.bits(word);
    if (last >= heap.size() || heap[last].first != line) {
      const auto at = std::find_if(heap.begin(), heap.end(), [line](const auto& entry) { return entry.first == line; });
      last = static_cast<size_t>(at - heap.begin());
      if (at == heap.end()) heap.emplace_back(line, 0);
    }
    for (unsigned i = 0; i < 8; ++i) {
      heap[last].second |= uint64_t{(bits >> (8 * i) & 0xff) != 0} << (offset % kLineSize + i);
    }
  }
  for (const auto& [line, mask] : heap) index->note(group, reads, line, mask);
}

// Queries are many, so those that ask nothing of the world are run again in a sample: of each kind the first, second,
// fourth, eighth and so on. One that asked for the clock or for randomness is always run again.
void LeafQueries::run_again(const Decisions& decisions, uint64_t digest, uint32_t sources) {
  const uint64_t worlds = sources == 0 ? 1 : asking_runs_++ < kRunsInManyWorlds ? kManyWorlds : kSomeWorlds;
  for (uint64_t world = 1; world <= worlds; ++world) {
    Decisions same = decisions;
    second_buffer_.clear();
    executor_->runner().set_variant(world);
    Outcome outcome = executor_->run(&same, [this] { subject_->run(query_, &second_buffer_); });
    executor_->runner().set_variant(0);
    executor_->memory().undo(leaf_);
    finish_answer(executor_, &outcome, &second_buffer_);
    if (!outcome.returned()) subject_->ended(query_, outcome, &second_buffer_);
    sources |= std::exchange(virtual_world.used, 0);
    const std::string_view answer = second_buffer_.view();
    if (outcome.kind == Outcome::Kind::kUnknown || XXH3_64bits(answer.data(), answer.size()) == digest) continue;
    executor_->runner().doubt(
        "an operation after recovery is not a function of the image. It ran twice on the same one, " +
        (sources == 0 ? "with its heap elsewhere and other bytes in memory that it has not initialised"
                      : "with other values of " + names_of_sources(sources)) +
        ", and gave another answer the second time. A crash state has more results than were looked at");
    return;
  }
  executor_->runner().note_sources(sources);
}

// Runs the query down all its branches. The judgement is kGood when all its answers are.
Subject::Judgement LeafQueries::run(QueryId query, int depth, Answers* results) {
  query_ = query;
  seen_.clear();
  bool good = true;
  const uint64_t before = search_.runs();
  if (taken_ != nullptr) executor_->writes().begin();
  search_.run(body_, [&](Outcome* outcome, const Decisions* decisions) {
    if (taken_ != nullptr) taken_->add(executor_->writes().left(leaf_));
    stopwatch_->lap(Stopwatch::kQuery);
    finish_answer(executor_, outcome, &buffer_);
    if (!outcome->returned()) subject_->ended(query_, *outcome, &buffer_);
    const uint32_t sources = std::exchange(virtual_world.used, 0);
    const uint64_t digest = XXH3_64bits(buffer_.view().data(), buffer_.view().size());
    // Of very many answers not all are remembered: judging one again changes nothing.
    if (seen_.size() == kMostSeen) seen_.clear();
    if (seen_.insert(digest).second) good = judge(depth, *outcome, results) && good;
    stopwatch_->lap(Stopwatch::kJudge);
    if (decisions == nullptr) return true;
    executor_->memory().undo(leaf_);
    const bool followed = outcome->kind != Outcome::Kind::kUnknown;
    const bool in_the_sample = std::has_single_bit(++ran_[query >> 56]);
    if (taken_ != nullptr) executor_->writes().end();
    if (followed && (sources != 0 || in_the_sample)) run_again(*decisions, digest, sources);
    if (taken_ != nullptr) executor_->writes().begin();
    stopwatch_->lap(Stopwatch::kUndo);
    return true;
  });
  executor_->writes().end();
  counts_->query_runs += search_.runs() - before;
  return good ? Subject::Judgement::kGood : Subject::Judgement::kBad;
}

bool LeafQueries::judge(int depth, const Outcome& outcome, Answers* results) {
  const std::string result(buffer_.view());
  if (results != nullptr) results->add(result);
  if (exact_) return true;  // answer_all() judges
  const Subject::Judgement judgement = subject_->answered(depth, query_, result);
  if (judgement == Subject::Judgement::kExplain) {
    if (narrowing_) {
      explain_widely(depth, query_, result);
    } else {
      subject_->explained(depth, query_, result, outcome.returned() ? nullptr : &outcome, image_());
    }
  }
  return judgement == Subject::Judgement::kGood;
}

const std::vector<std::string>& LeafQueries::answers(QueryId query) const {
  static const std::vector<std::string> none;
  const auto known = answers_.find(query);
  return known == answers_.end() ? none : known->second.all;
}

// Every query at this leaf, whether it was run here or its answers are those of a leaf before.
void LeafQueries::answer_all(int depth) {
  const std::vector<std::string> undisturbed{std::string(subject_->undisturbed())};
  std::vector<uint32_t> codes;
  all_groups(&codes);
  for (uint32_t key = 0; count_[3] > 0 && key < count_[0]; ++key) codes.push_back(bystander_of(key));
  for (uint32_t code : codes) {
    const std::span<const QueryId> members = subject_->members(group_of(code));
    for (QueryId query : std::vector<QueryId>(members.begin(), members.end())) {
      const auto known = answers_.find(query);
      for (const std::string& result : known == answers_.end() ? undisturbed : known->second.all) {
        if (subject_->answered(depth, query, result) == Subject::Judgement::kExplain) explain(depth, query, result);
      }
    }
  }
}

// Finds a branch that gives `wanted` again and reports the image that leads there.
void LeafQueries::explain(int depth, QueryId query, const std::string& wanted) {
  query_ = query;
  QuerySearch search(executor_, &buffer_);
  search.merge_after(options_.merge_after);
  search.run(body_, [&](Outcome* outcome, const Decisions*) {
    finish_answer(executor_, outcome, &buffer_);
    if (!outcome->returned()) subject_->ended(query_, *outcome, &buffer_);
    virtual_world.used = 0;
    const bool found = buffer_.view() == wanted;
    if (found) subject_->explained(depth, query, wanted, outcome->returned() ? nullptr : outcome, image_());
    return !found;
  });
  counts_->query_runs += search.runs();
}

// What the narrowing took away was not observed by the query: the image must not say so.
void LeafQueries::explain_widely(int depth, QueryId query, const std::string& wanted) {
  leaf_ = narrowing_->leaf;
  executor_->memory().undo(leaf_);
  explain(depth, query, wanted);
  executor_->memory().keep_only(narrowing_->line, narrowing_->keep);
  leaf_ = executor_->memory().mark();
}

}  // namespace powercut
