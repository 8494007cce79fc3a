#include "checker/subjects/library/least_image.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "checker/findings/least_lines.h"
#include "replayer/search/query_search.h"

namespace powercut {
namespace {

// Number of visible lines, among the lines that were read, for which the search asks whether the answer needs them.
constexpr size_t kMostNeeded = 64;

LineSet part_of(const LineSet& set, uint32_t first, uint32_t end, bool lost) {
  LineSet out;
  out.line = set.line;
  out.observed = set.observed;
  for (uint32_t i = first; i < end; ++i) {
    if (lost && i == set.visible) continue;
    if (i == set.visible) out.visible = static_cast<uint32_t>(out.contents.size());
    out.contents.push_back(set.contents[i]);
    if (!set.base.empty()) out.base.push_back(set.base[i]);
  }
  out.compute_diff();
  return out;
}

}  // namespace

std::optional<LeastImage::Shown> LeastImage::find(const Question& question, const LineSets& legal) {
  question_ = &question;
  first_ = &legal;
  other_.reset();
  levels_.assign(static_cast<size_t>(question.depth) + 1, {});
  in_all_ = executions_ = 0;
  // After one cut the answer was met on one of these images. After several, the way there is needed.
  if (question.depth > 0 && !shown()) return std::nullopt;
  for (size_t depth = 0; depth <= last(); ++depth) {
    settle(depth);
    // Settled, a level is one image, and its recovery has one way: of its cuts the first that shows the answer is
    // found.
    if (!shown() || given_up()) return std::nullopt;
    if (depth < last()) levels_[depth].cut = levels_[depth].found_cut;
  }
  Shown out = taken();
  return given_up() ? std::nullopt : std::optional(std::move(out));
}

std::string LeastImage::answer(QueryId query) {
  other_ = query;
  other_answer_.clear();
  shown();
  other_.reset();
  return std::move(other_answer_);
}

LineSets LeastImage::legal(size_t depth) const { return depth == 0 ? *first_ : sets_of(levels_[depth].legal); }

// ---- one question --------------------------------------------------------------------------------

bool LeastImage::shown() {
  in_all_ += executions_;
  executions_ = 0;
  if (given_up()) return false;
  return shown_from(0, *first_);
}

bool LeastImage::shown_from(size_t depth, const LineSets& legal) {
  Level& level = levels_[depth];
  std::deque<LineSet> parts;  // the executor keeps their addresses
  LineSets sets;
  for (const LineSet* set : legal) {
    if (!level.open) {
      sets.push_back(set);
      continue;
    }
    const auto open = level.open->find(set->line);
    const Range range = open != level.open->end() ? open->second : Range{set->visible, set->visible + 1, false};
    parts.push_back(part_of(*set, range.first, range.end, range.lost));
    if (parts.back().contents.empty()) return false;
    sets.push_back(&parts.back());
  }
  executor_->memory().install(sets);
  bool found = false;
  Decisions decisions;
  std::vector<Cut> cuts;
  const UndecidedMemory::Mark start = executor_->memory().mark();
  do {
    if (++executions_ > kMostExecutions || executor_->stopped()) break;
    cuts.clear();
    buffer_.clear();
    executor_->reads().begin(start.arena);
    const Outcome outcome =
        executor_->run_recovery(&decisions, depth < last() ? &cuts : nullptr, [&] { oracle_->recover(&buffer_); });
    if (!outcome.returned()) put_failure(outcome, &buffer_);
    if (depth == last()) {
      found = gives_answer(outcome);
      if (found) level.lines_read = executor_->reads().lines();
      executor_->memory().undo(start);
      continue;
    }
    std::vector<uint64_t> read = executor_->reads().lines();
    if (outcome.returned()) {
      if (auto cut = executor_->recovery().cut_after()) cuts.push_back(std::move(*cut));
    }
    const std::vector<NestedStore> stores = executor_->recovery().stores();
    executor_->memory().undo(start);
    found = inwards(depth, cuts, stores);
    if (found) level.lines_read = std::move(read);
  } while (!found && decisions.advance());
  executor_->memory().uninstall();
  return found;
}

bool LeastImage::inwards(size_t depth, const std::vector<Cut>& cuts, const std::vector<NestedStore>& stores) {
  Level& level = levels_[depth];
  for (size_t i = level.cut.value_or(0); i < (level.cut ? std::min(*level.cut + 1, cuts.size()) : cuts.size()); ++i) {
    std::vector<LineSet> children = executor_->memory().child(cuts[i]);
    std::sort(children.begin(), children.end(), [](const LineSet& a, const LineSet& b) { return a.line < b.line; });
    if (!shown_from(depth + 1, sets_of(children))) continue;
    level.found_cut = i;
    level.nested = nested_of(cuts[i], stores);
    levels_[depth + 1].legal = std::move(children);
    return true;
  }
  return false;
}

bool LeastImage::askable(QueryId query) const { return oracle_->usable() && oracle_->can_ask(query); }

// The executor stands behind recovery; its result is in the buffer.
bool LeastImage::gives_answer(const Outcome& recovered) {
  const QueryId query = other_.value_or(question_->query);
  if (query == kRecoveryQuery) {
    outcome_ = recovered;
    return buffer_.view() == question_->result && died_at(recovered) == question_->died_at;
  }
  if (!recovered.returned() || !askable(query)) return false;
  bool found = false;
  QuerySearch search(executor_, &buffer_);
  const auto ended = [&](Outcome* outcome, const Decisions*) {
    outcome_ = std::move(*outcome);
    if (!outcome_.returned()) oracle_->ended(query, outcome_, &buffer_);
    if (other_) other_answer_ = std::string(buffer_.view());
    found = other_ || buffer_.view() == question_->result;
    return !found;
  };
  search.run([&] { oracle_->run(query, &buffer_); }, ended, kMostExecutions - std::min(executions_, kMostExecutions));
  executions_ += search.runs();
  return found;
}

// ---- a level -------------------------------------------------------------------------------------

void LeastImage::settle(size_t depth) {
  const std::vector<size_t> lost = fewest_lost(depth);
  shown_with_open(depth, lost);
  for (size_t line = lost.size(); line-- > 0;) choose_content(depth, lost[line]);
}

bool LeastImage::shown_with_open(size_t depth, const std::vector<size_t>& lines) {
  const LineSets sets = legal(depth);
  Open open;
  for (size_t line : lines) open[sets[line]->line] = {0, static_cast<uint32_t>(sets[line]->contents.size()), false};
  levels_[depth].open = std::move(open);
  return shown();
}

// The lines of the level, as positions in its sets, that have to be lost; ascending.
std::vector<size_t> LeastImage::fewest_lost(size_t depth) {
  const size_t lines = legal(depth).size();
  if (shown_with_open(depth, {})) return {};
  for (size_t i = lines; i-- > lines - std::min(lines, kLinesTriedAlone);) {
    if (shown_with_open(depth, {i})) return {i};
  }
  if (lines > kLinesTriedAlone) return none_needless(depth);
  const std::vector<size_t> enough = none_needless(depth);
  if (enough.size() <= 2 || lines * (lines - 1) / 2 > kMostPairs) return enough;
  for (size_t i = lines; i-- > 0;) {
    for (size_t j = i; j-- > 0;) {
      if (shown_with_open(depth, {j, i})) return {j, i};
    }
  }
  return enough;
}

// Goes through the lines upwards. A line is closed if the kept lines and the lines above it show the answer without it.
// Halving finds the next line that is needed: closing more lines never shows more.
std::vector<size_t> LeastImage::none_needless(size_t depth) {
  const size_t lines = legal(depth).size();
  std::vector<size_t> kept;
  const auto from = [&](size_t first) {
    std::vector<size_t> open = kept;
    for (size_t i = first; i < lines; ++i) open.push_back(i);
    return open;
  };
  for (size_t next = 0; next < lines;) {
    size_t good = next, bad = lines + 1;  // open from `good` on is enough, from `bad` on it is not
    while (bad - good > 1) {
      const size_t middle = std::min(lines, good + (bad - good) / 2);
      (shown_with_open(depth, from(middle)) ? good : bad) = middle;
    }
    if (good >= lines) break;
    kept.push_back(good);
    next = good + 1;
  }
  return kept;
}

void LeastImage::choose_content(size_t depth, size_t line) {
  const LineSet& set = *legal(depth)[line];  // a question makes the sets of inner levels anew
  const auto end = static_cast<uint32_t>(set.contents.size());
  Range& range = (*levels_[depth].open)[set.line];
  const uint32_t last = last_content(end, [&](uint32_t first) {
    range = {first, end, true};
    return shown();
  });
  range = {last, last + 1, false};
}

// ---- the image -----------------------------------------------------------------------------------

// Whether the answer goes away when this line, which was visible when the answer was given, is lost as well.
bool LeastImage::needed(size_t depth, const LineSet& set) {
  const std::vector<Level> settled = levels_;
  const uint32_t other = lost_content(set);
  (*levels_[depth].open)[set.line] = {other, other + 1, false};
  levels_[depth].cut.reset();
  for (size_t inner = depth + 1; inner < levels_.size(); ++inner) levels_[inner] = {};
  const bool without = shown();
  levels_ = settled;
  return !without;
}

LeastImage::Shown LeastImage::taken() {
  Shown out;
  out.outcome = outcome_;
  std::vector<uint64_t> read;
  for (const Level& level : levels_) read.insert(read.end(), level.lines_read.begin(), level.lines_read.end());
  std::sort(read.begin(), read.end());
  for (size_t depth = 0; depth <= last(); ++depth) {
    if (depth > 0) out.image.nested.push_back(levels_[depth - 1].nested);
    std::vector<Image::Line>& lines = out.image.levels.emplace_back();
    const std::vector<LineSet> kept = levels_[depth].legal;
    const LineSets sets = depth == 0 ? *first_ : sets_of(kept);
    std::vector<bool> lost;
    for (const LineSet* set : sets) lost.push_back(levels_[depth].open->contains(set->line));
    const auto asked = [&](size_t line) {
      return sets[line]->contents.size() > 1 && std::ranges::binary_search(read, sets[line]->line);
    };
    const std::vector<bool> decided =
        decided_lines(lost, kMostNeeded, asked, [&](size_t line) { return !needed(depth, *sets[line]); });
    for (size_t i = 0; i < sets.size(); ++i) {
      const LineSet& set = *sets[i];
      const uint32_t index = lost[i] ? levels_[depth].open->at(set.line).first : set.visible;
      lines.push_back({set.line, set.contents[index], static_cast<uint32_t>(set.contents.size()), decided[i]});
    }
  }
  return out;
}

}  // namespace powercut
