#include "replayer/leaf_queries.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>
#include <utility>

#include "replayer/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Lines of the target's heap, beside the lines of the pool.
constexpr uint64_t kHeapLine = uint64_t{1} << 40;
// Worlds for a query that asked for something of the world: for the first such runs of a chunk, and for the others.
constexpr uint64_t kManyWorlds = 16, kSomeWorlds = 2, kRunsInManyWorlds = 8;
// Views that are kept besides that of the first cut.
constexpr size_t kViews = 3;

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
      body_([this] { subject_->run(query_, &buffer_); }) {
  executor->want_heap_reads(false);
}

void LeafQueries::forget() {
  for (auto& states : groups_) states.clear();
  index_ = {};
  views_.clear();
  watched_.clear();
  answers_.clear();
  next_view_ = 1;
  first_leaf_ = true;
  heap_followed_ = false;
  ran_ = {};
  asking_runs_ = 0;
  executor_->want_heap_reads(false);
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
  for (const Executor::Touched& touched : executor_->touched()) {
    before_.emplace(touched.line, touched.before);
    own_.emplace(touched.line, executor_->contents(touched.line));
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

void LeafQueries::all_groups(std::vector<uint32_t>* out) const {
  for (uint8_t kind = 0; kind < Group::kKinds; ++kind) {
    for (uint32_t i = 0; i < count_[kind]; ++i) out->push_back(code_of({kind, i}));
  }
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
  for (uint8_t kind = 0; kind < Group::kKinds; ++kind) {
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
      differ_in(kHeapLine + at / kLineSize, Novelty({&before, 1}, {&after, 1}), false, &out);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void LeafQueries::keep_view(int depth) {
  View view{std::move(own_), {}, state_, count_, depth};
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
  leaf_ = executor_->mark();
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
      executor_->want_heap_reads(true);
      views_.clear();  // nobody knows what of the heap was read in them
    }
    const auto narrowing = std::move(new_in_);
    const uint32_t stamp = stamp_;
    for (size_t i = 1; i < views_.size() && !codes.empty() && (!first_leaf_ || obliged_.empty()); ++i) {
      const std::vector<uint32_t> others = differ(views_[i]);
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
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  ask(std::move(codes), whole, depth);
  if (exact_) answer_all(depth);
  keep_view(depth);
}

void LeafQueries::ask(std::vector<uint32_t> codes, const absl::flat_hash_set<uint32_t>& whole, int depth) {
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
    const GroupState& state = state_of(code);
    // Of a line that recovery stored to, the candidates are not the contents: it is not narrowed.
    const bool narrow = !exact_ && state.narrow && !whole.contains(code) && !own_.contains(state.line);
    tasks.push_back({group_of(code).kind, narrow, narrow ? state.line : 0, code});
  }
  std::sort(tasks.begin(), tasks.end());
  const Executor::Mark leaf = leaf_;
  for (size_t i = 0; i < tasks.size();) {
    if (!tasks[i].narrow) {
      ask_group(tasks[i++].code, depth, true);
      continue;
    }
    // All groups that this line alone has hit. Narrowed to what is new for all of them together.
    const uint64_t line = tasks[i].line;
    const Novelty& novelty = new_in_.at(line);
    std::vector<uint32_t> keep = novelty.contents_in(~uint64_t{0});
    const bool narrowed = !keep.empty() && keep.size() < base(line).size();
    if (narrowed) {
      narrowing_ = {line, std::move(keep), leaf};
      executor_->keep_only(line, narrowing_->keep);
      leaf_ = executor_->mark();
    }
    for (; i < tasks.size() && tasks[i].narrow && tasks[i].line == line; ++i) {
      ask_group(tasks[i].code, depth, !narrowed);
    }
    narrowing_.reset();
    leaf_ = leaf;
    executor_->undo(leaf);
  }
}

void LeafQueries::ask_group(uint32_t code, int depth, bool whole) {
  const Group group = group_of(code);
  bool good = true;
  executor_->begin_reads(leaf_);
  const std::span<const QueryId> members = subject_->members(group);
  const std::vector<QueryId> queries(members.begin(), members.end());
  for (QueryId query : queries) {
    std::vector<std::string>* results = exact_ || options_.keep_answers ? &answers_[query] : nullptr;
    if (results != nullptr && (exact_ || (whole && first_leaf_))) results->clear();
    good = run(query, depth, results) == Subject::Judgement::kGood && good;
  }
  GroupState& state = state_of(code);
  note_reads(group, &state.reads);
  if (!good) watched_.insert(code);
}

void LeafQueries::note_reads(Group group, ReadIndex::Reads* reads) {
  const Executor::Reads& done = executor_->reads();
  for (uint64_t line : done.lines) index_.note(group, reads, line, executor_->read_mask(line));
  absl::InlinedVector<std::pair<uint64_t, uint64_t>, 8> heap;  // line, mask
  for (uint64_t word : done.words) {
    const uint64_t offset = word - executor_->heap_begin();
    const uint64_t line = kHeapLine + offset / kLineSize;
    const uint64_t bits = executor_->read_bits(word);
    auto at = std::find_if(heap.begin(), heap.end(), [line](const auto& entry) { return entry.first == line; });
    if (at == heap.end()) at = heap.insert(heap.end(), {line, 0});
    for (unsigned i = 0; i < 8; ++i) at->second |= uint64_t{(bits >> (8 * i) & 0xff) != 0} << (offset % kLineSize + i);
  }
  for (const auto& [line, mask] : heap) index_.note(group, reads, line, mask);
}

// Queries are many, so those that ask nothing of the world are run again in a sample: of each kind the first, second,
// fourth, eighth and so on. One that asked for the clock or for randomness is always run again.
void LeafQueries::run_again(uint64_t digest, uint32_t sources) {
  const uint64_t worlds = sources == 0 ? 1 : asking_runs_++ < kRunsInManyWorlds ? kManyWorlds : kSomeWorlds;
  for (uint64_t world = 1; world <= worlds; ++world) {
    Decisions same = decisions_;
    second_buffer_.clear();
    executor_->set_variant(world);
    Outcome outcome = executor_->run(&same, [this] { subject_->run(query_, &second_buffer_); });
    executor_->set_variant(0);
    executor_->undo(leaf_);
    finish_answer(executor_, &outcome, &second_buffer_);
    sources |= std::exchange(virtual_world.used, 0);
    const std::string_view answer = second_buffer_.view();
    if (outcome.kind == Outcome::Kind::kUnknown || XXH3_64bits(answer.data(), answer.size()) == digest) continue;
    executor_->doubt("an operation after recovery is not a function of the image. It ran twice on the same one, " +
                     (sources == 0 ? "with its heap elsewhere and other bytes in memory that it has not initialised"
                                   : "with other values of " + names_of_sources(sources)) +
                     ", and gave another answer the second time. A crash state has more results than were looked at");
    return;
  }
  executor_->note_sources(sources);
}

// Runs the query down all its branches. The judgement is kGood when all its answers are.
Subject::Judgement LeafQueries::run(QueryId query, int depth, std::vector<std::string>* results) {
  query_ = query;
  decisions_.clear();
  seen_.clear();
  bool good = true;
  do {
    buffer_.clear();
    ++counts_->query_runs;
    Outcome outcome = executor_->run(&decisions_, body_);
    stopwatch_->lap(Stopwatch::kQuery);
    finish_answer(executor_, &outcome, &buffer_);
    const uint32_t sources = std::exchange(virtual_world.used, 0);
    const uint64_t digest = XXH3_64bits(buffer_.view().data(), buffer_.view().size());
    if (std::find(seen_.begin(), seen_.end(), digest) == seen_.end()) {
      seen_.push_back(digest);
      if (results != nullptr && std::find(results->begin(), results->end(), buffer_.view()) == results->end()) {
        results->emplace_back(buffer_.view());
      }
      if (!exact_) {  // else answer_all() judges
        const Subject::Judgement judgement = subject_->answered(depth, query, buffer_.view());
        good = good && judgement == Subject::Judgement::kGood;
        if (judgement == Subject::Judgement::kExplain) {
          const std::string result(buffer_.view());
          if (narrowing_) {
            explain_widely(depth, query, result);
          } else {
            subject_->explained(depth, query, result, outcome.returned() ? nullptr : &outcome, image_());
          }
        }
      }
    }
    stopwatch_->lap(Stopwatch::kJudge);
    executor_->undo(leaf_);
    const bool followed = outcome.kind != Outcome::Kind::kUnknown;
    const bool in_the_sample = std::has_single_bit(++ran_[query >> 56]);
    if (followed && (sources != 0 || in_the_sample)) run_again(digest, sources);
    stopwatch_->lap(Stopwatch::kUndo);
  } while (decisions_.advance());
  return good ? Subject::Judgement::kGood : Subject::Judgement::kBad;
}

const std::vector<std::string>& LeafQueries::answers(QueryId query) const {
  static const std::vector<std::string> none;
  const auto known = answers_.find(query);
  return known == answers_.end() ? none : known->second;
}

// Every query at this leaf, whether it was run here or its answers are those of a leaf before.
void LeafQueries::answer_all(int depth) {
  std::vector<uint32_t> codes;
  all_groups(&codes);
  for (uint32_t code : codes) {
    const std::span<const QueryId> members = subject_->members(group_of(code));
    for (QueryId query : std::vector<QueryId>(members.begin(), members.end())) {
      for (const std::string& result : answers_[query]) {
        if (subject_->answered(depth, query, result) == Subject::Judgement::kExplain) explain(depth, query, result);
      }
    }
  }
}

// Finds a branch that gives `wanted` again and reports the image that leads there.
void LeafQueries::explain(int depth, QueryId query, const std::string& wanted) {
  query_ = query;
  Decisions decisions;
  do {
    buffer_.clear();
    ++counts_->query_runs;
    Outcome outcome = executor_->run(&decisions, body_);
    finish_answer(executor_, &outcome, &buffer_);
    virtual_world.used = 0;
    const bool found = buffer_.view() == wanted;
    if (found) subject_->explained(depth, query, wanted, outcome.returned() ? nullptr : &outcome, image_());
    executor_->undo(leaf_);
    if (found) return;
  } while (decisions.advance());
}

// What the narrowing took away was not observed by the query: the image must not say so.
void LeafQueries::explain_widely(int depth, QueryId query, const std::string& wanted) {
  leaf_ = narrowing_->leaf;
  executor_->undo(leaf_);
  explain(depth, query, wanted);
  executor_->keep_only(narrowing_->line, narrowing_->keep);
  leaf_ = executor_->mark();
}

}  // namespace powercut
