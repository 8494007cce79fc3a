#include "replayer/explorer/leaf_views.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "xxhash.h"

namespace powercut {
namespace {

// Number of views that are kept besides the view of the first cut.
constexpr size_t kViews = 3;

}  // namespace

void sort_unique(std::vector<uint32_t>* list) {
  std::sort(list->begin(), list->end());
  list->erase(std::unique(list->begin(), list->end()), list->end());
}

void Wake::add(const WriteSet& writes) {
  globals = globals || writes.globals;
  for (const auto& [line, mask] : writes.pool) lines[line] |= mask;
  for (const auto& [line, mask] : writes.heap) lines[kHeapLine + line] |= mask;
}

void Wake::add(const Wake& other) {
  globals = globals || other.globals;
  for (const auto& [line, mask] : other.lines) lines[line] |= mask;
}

bool Wake::changes_heap() const {
  return std::any_of(lines.begin(), lines.end(), [](const auto& entry) { return entry.first >= kHeapLine; });
}

LeafViews::LeafViews(Executor* executor, bool exact, bool all_definite)
    : executor_(executor), exact_(exact), all_definite_(all_definite) {
  executor->reads().want_heap(false);
}

void LeafViews::forget() {
  for (auto& states : groups_) states.clear();
  index_ = {};
  views_.clear();
  next_view_ = 1;
  heap_followed_ = false;
  executor_->reads().want_heap(false);
}

void LeafViews::follow_heap() {
  heap_followed_ = true;
  executor_->reads().want_heap(true);
  views_.clear();  // the reads of the heap in these views are unknown
}

LeafViews::GroupState& LeafViews::state_of(uint32_t code) {
  const Group group = group_of(code);
  std::vector<GroupState>& states = groups_[static_cast<size_t>(group.kind)];
  if (states.size() <= group.index) states.resize(std::max<size_t>(group.index + 1, states.size() * 3 / 2));
  return states[group.index];
}

void LeafViews::trace_changed(const Frontier::Change& change) {
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

// ---- the view at hand ----------------------------------------------------------------------------

Contents LeafViews::base(uint64_t line) const {
  const LineSet* set = all_definite_ ? nullptr : frontier_->find(line);
  if (set != nullptr) return set->contents;
  if (const auto touched = before_.find(line); touched != before_.end()) return {&touched->second, 1};
  return {reinterpret_cast<const Content*>(executor_->pool() + line * kLineSize), 1};
}

Contents LeafViews::now(uint64_t line) const {
  const auto own = own_.find(line);
  return own != own_.end() ? Contents(own->second) : base(line);
}

Contents LeafViews::then(const View& view, uint64_t line) const {
  if (const auto own = view.own.find(line); own != view.own.end()) return own->second;
  const auto since = view.since.find(line);
  if (since == view.since.end()) return base(line);
  if (since->second.prefix != 0) return base(line).first(since->second.prefix);
  return since->second.contents;
}

void LeafViews::take(const std::shared_ptr<const RecoveredState>& state, const GroupCounts& count, bool untouched) {
  executor_->reads().want_heap(heap_followed_);  // a second life has views of its own
  own_.clear();
  before_.clear();
  state_ = state;
  count_ = count;
  if (untouched) return;
  for (const UndecidedMemory::Touched& touched : executor_->memory().touched()) {
    before_.emplace(touched.line, touched.before);
    own_.emplace(touched.line, executor_->memory().contents(touched.line));
  }
}

uint64_t LeafViews::digest() const {
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

// ---- comparing -----------------------------------------------------------------------------------

std::vector<uint32_t> LeafViews::all_groups() const {
  std::vector<uint32_t> out;
  for (const GroupKind kind : {GroupKind::kKey, GroupKind::kRegion, GroupKind::kTable}) {
    for (uint32_t i = 0; i < count_[kind]; ++i) out.push_back(code_of({kind, i}));
  }
  if (count_.intrusion > 0) out.push_back(kIntruderCode);
  return out;
}

std::vector<uint32_t> LeafViews::all_groups_as_new() {
  std::vector<uint32_t> out = all_groups();
  for (uint32_t code : out) state_of(code).narrow = false;
  return out;
}

void LeafViews::differ_in(uint64_t line, const Novelty& novelty, bool pool, std::vector<uint32_t>* out) {
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
    for (uint32_t code : all_groups()) hit(code, false);
    return;
  }
  for (const ReadIndex::Reader& reader : readers->groups) {
    if (novelty.in(reader.mask())) hit(reader.group, pool);
  }
}

std::vector<uint32_t> LeafViews::differ(const View& view) {
  std::vector<uint32_t> out;
  ++stamp_;
  new_in_.clear();
  if (view.state->opened.table != state_->opened.table || view.state->globals != state_->globals) {
    return all_groups_as_new();
  }
  // A bystander is as new as its key.
  for (const GroupKind kind : {GroupKind::kKey, GroupKind::kRegion, GroupKind::kTable}) {
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
    return all_groups_as_new();
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

LeafViews::Hits LeafViews::hits_of(const View& view, const std::vector<uint32_t>& codes, int depth,
                                   const absl::flat_hash_set<uint32_t>& watched) {
  Hits out;
  const auto add = [&out](uint32_t code) {
    const Group group = group_of(code);
    out.intruder = out.intruder || code == kIntruderCode;
    if (group.kind == GroupKind::kKey) out.keys.push_back(group.index);
    if (code > kIntruderCode) out.keys.push_back(group.index - 1);
  };
  for (uint32_t code : codes) add(code);
  if (view.depth > depth) {
    for (uint32_t code : watched) {
      if (code >= kIntruderCode) add(code);
    }
  }
  sort_unique(&out.keys);
  return out;
}

std::vector<uint32_t> LeafViews::new_groups(int depth, bool only_first, const absl::flat_hash_set<uint32_t>& watched,
                                            std::vector<Hits>* hits) {
  heap_differs_ = false;
  std::vector<uint32_t> codes = differ(views_[0]);
  if (heap_differs_) {
    follow_heap();
    return codes;
  }
  hits->push_back(hits_of(views_[0], codes, depth, watched));
  auto narrowing = std::move(new_in_);
  const uint32_t stamp = stamp_;
  for (size_t i = 1; i < views_.size() && !codes.empty() && !only_first; ++i) {
    const std::vector<uint32_t> others = differ(views_[i]);
    hits->push_back(hits_of(views_[i], others, depth, watched));
    std::erase_if(codes, [&](uint32_t code) {
      return !std::binary_search(others.begin(), others.end(), code) &&
             (views_[i].depth <= depth || !watched.contains(code));
    });
  }
  if (stamp_ != stamp) {
    // The comparisons with other views have overwritten which line hit a group: do the first one again.
    differ(views_[0]);
  } else {
    new_in_ = std::move(narrowing);
  }
  return codes;
}

bool LeafViews::may_narrow(uint32_t code, const absl::flat_hash_set<uint32_t>& whole) {
  const GroupState& state = state_of(code);
  // The candidates of a line that recovery stored to are not its contents: it is not narrowed.
  return !exact_ && state.narrow && !whole.contains(code) && !own_.contains(state.line);
}

std::vector<uint32_t> LeafViews::new_contents(uint64_t line) const {
  std::vector<uint32_t> out = new_in_.at(line).contents_in(~uint64_t{0});
  if (out.size() >= base(line).size()) out.clear();
  return out;
}

void LeafViews::keep(int depth, bool first, bool obliged, std::shared_ptr<const Wake> wake) {
  View view{std::move(own_), {}, state_, count_, depth, std::move(wake)};
  own_.clear();
  if (exact_ || views_.empty()) {
    views_.clear();
    views_.push_back(std::move(view));
  } else if (first && (depth == 0 || obliged)) {
    views_[0] = std::move(view);
    // The others were asked under obligations that no longer hold.
    if (obliged) views_.resize(1);
  } else if (views_.size() <= kViews) {
    views_.push_back(std::move(view));
  } else {
    views_[next_view_] = std::move(view);
    next_view_ = next_view_ % kViews + 1;
  }
}

void LeafViews::note_reads(ReadIndex* index, Group group, ReadIndex::Reads* reads) const {
  const ReadLog& done = executor_->reads();
  for (uint64_t line : done.lines()) index->note(group, reads, line, done.mask(line));
  absl::InlinedVector<std::pair<uint64_t, uint64_t>, 8> heap;  // line, mask
  size_t last = 0;                                             // index into `heap`: the next word mostly has this line
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

}  // namespace powercut
