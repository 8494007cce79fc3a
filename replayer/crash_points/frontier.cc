#include "replayer/crash_points/frontier.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>

namespace powercut {

namespace {

// Memory of larger sets is given back at once: few lines have any.
constexpr size_t kSpareContents = 256;
constexpr size_t kSpares = 64;

uint64_t differing(const Content& a, const Content& b) {
  uint64_t out = 0;
  for (size_t i = 0; i < kLineSize; i += 16) {
    const __m128i left = _mm_load_si128(reinterpret_cast<const __m128i*>(a.bytes.data() + i));
    const __m128i right = _mm_load_si128(reinterpret_cast<const __m128i*>(b.bytes.data() + i));
    const auto same = static_cast<uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)));
    out |= uint64_t{static_cast<uint16_t>(~same)} << i;
  }
  return out;
}

}  // namespace

const std::vector<Frontier::Change>& Frontier::follow(Model* model) {
  for (Change& change : changes_) recycle(&change.before.contents);
  changes_.clear();
  for (const PendingLines::Change& touched : model->take_changes()) follow_line(touched, *model);
  return changes_;
}

void Frontier::follow_line(const PendingLines::Change& touched, const Model& model) {
  const LineLog* log = model.pending().find(touched.line);
  if (log != nullptr && !log->pending()) log = nullptr;
  Entry* entry = entry_of(touched.line);
  if (!touched.raised && log != nullptr && entry->continues && !log->has_non_temporal()) {
    extend(entry, *log, model.pending().policy());
  } else {
    rebuild(entry, log, model);
  }
  if (log == nullptr) drop(touched.line);
}

// The floor did not rise and the stores that made the set are still there, in front of the new ones: the contents so
// far are those of a shorter chain over the same floor, which a longer one has first, in the same order.
void Frontier::extend(Entry* entry, const LineLog& log, AtomPolicy policy) {
  LineSet& set = entry->set;
  const size_t before = set.contents.size();
  entry->chain.extend(log.stores(), policy, kCandidateLimit, &set.contents);
  set.visible = entry->chain.visible();
  set_truncated(entry, entry->chain.truncated() || log.crowded());
  const size_t now = set.contents.size();
  if (now == before) return;
  for (size_t i = before; i < now; ++i) set.diff |= differing(set.contents[0], set.contents[i]);
  resized(before, now);
  changes_.push_back({.line = set.line, .grew = true, .old_count = static_cast<uint32_t>(before), .before = {}});
}

void Frontier::rebuild(Entry* entry, const LineLog* log, const Model& model) {
  LineSet& set = entry->set;
  Change change{.line = set.line, .grew = false, .old_count = 0, .before = {}};
  change.before.line = set.line;
  change.before.visible = set.visible;
  change.before.diff = set.diff;
  change.before.contents = take_spare();
  std::swap(change.before.contents, set.contents);
  const std::vector<Content>& before = change.before.contents;

  const Content floor = model.floor(set.line);
  entry->chain.clear();
  entry->continues = log == nullptr || !log->has_non_temporal();
  bool truncated = false;
  if (entry->continues) {
    entry->chain.start(floor, kCandidateLimit, &set.contents);
    if (log != nullptr) {
      entry->chain.extend(log->stores(), model.pending().policy(), kCandidateLimit, &set.contents);
    }
    set.visible = entry->chain.visible();
    truncated = entry->chain.truncated() || (log != nullptr && log->crowded());
  } else {
    CandidateSet made = candidates(*log, {&floor, 1}, model.pending().policy(), kCandidateLimit);
    set.contents.swap(made.contents);
    set.visible = made.visible;
    truncated = made.truncated;
  }
  set_truncated(entry, truncated);
  set.diff = 0;
  for (size_t i = 1; i < set.contents.size(); ++i) set.diff |= differing(set.contents[0], set.contents[i]);
  if (pool_ != nullptr) std::memcpy(pool_ + set.line * kLineSize, set.contents[0].bytes.data(), kLineSize);

  const bool prefix = !before.empty() && before.size() <= set.contents.size() &&
                      std::equal(before.begin(), before.end(), set.contents.begin());
  if (prefix && before.size() == set.contents.size()) {
    recycle(&change.before.contents);
    return;
  }
  resized(before.size(), set.contents.size());
  if (prefix) {
    change.grew = true;
    change.old_count = static_cast<uint32_t>(before.size());
    recycle(&change.before.contents);
    change.before = {};
  }
  changes_.push_back(std::move(change));
}

void Frontier::set_truncated(Entry* entry, bool truncated) {
  truncated_ += (truncated ? 1 : 0) - (entry->truncated ? size_t{1} : 0);
  entry->truncated = truncated;
}

// A line that was definite begins with what the pool has.
Frontier::Entry* Frontier::entry_of(uint64_t line) {
  const auto [at, fresh] = at_.try_emplace(line, 0);
  if (!fresh) return &entries_[at->second];
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  at->second = free_.back();
  free_.pop_back();
  Entry& entry = entries_[at->second];
  entry.set.line = line;
  entry.set.contents = take_spare();
  if (pool_ != nullptr) {
    std::memcpy(entry.set.contents.emplace_back().bytes.data(), pool_ + line * kLineSize, kLineSize);
  }
  return &entry;
}

void Frontier::drop(uint64_t line) {
  const auto at = at_.find(line);
  Entry& entry = entries_[at->second];
  set_truncated(&entry, false);
  recycle(&entry.set.contents);
  entry.set.visible = 0;
  entry.set.diff = 0;
  entry.chain.clear();
  entry.continues = false;
  free_.push_back(at->second);
  at_.erase(at);
}

std::vector<Content> Frontier::take_spare() {
  if (spare_.empty()) return {};
  std::vector<Content> out = std::move(spare_.back());
  spare_.pop_back();
  return out;
}

void Frontier::recycle(std::vector<Content>* contents) {
  std::vector<Content> memory;
  memory.swap(*contents);
  if (memory.capacity() == 0 || memory.capacity() > kSpareContents || spare_.size() == kSpares) return;
  memory.clear();
  spare_.push_back(std::move(memory));
}

void Frontier::resized(uint64_t before, uint64_t now) {
  if (before > 1) count(before, false);
  if (now > 1) count(now, true);
}

void Frontier::count(uint64_t size, bool in) {
  const auto twos = static_cast<uint64_t>(std::countr_zero(size));
  const uint64_t odd = size >> twos;
  twos_ += in ? twos : -twos;
  undecided_ += in ? 1 : -size_t{1};
  if (odd > 1 && in) odd_ *= odd;
  if (odd > 1 && !in) odd_ /= odd;
  states_known_ = false;
}

const BigInt& Frontier::states() const {
  if (!states_known_) {
    states_ = odd_;
    states_ <<= twos_;
    states_known_ = true;
  }
  return states_;
}

LineSets Frontier::sets() const {
  LineSets out;
  out.reserve(undecided_);
  for (const auto& [line, entry] : at_) {
    if (entries_[entry].set.contents.size() > 1) out.push_back(&entries_[entry].set);
  }
  std::sort(out.begin(), out.end(), [](const LineSet* a, const LineSet* b) { return a->line < b->line; });
  return out;
}

const LineSet* Frontier::find(uint64_t line) const {
  const auto at = at_.find(line);
  if (at == at_.end() || entries_[at->second].set.contents.size() < 2) return nullptr;
  return &entries_[at->second].set;
}

}  // namespace powercut
