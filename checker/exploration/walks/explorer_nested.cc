// The explorer's cuts inside recovery. A second cut undoes or tears recovery's stores, and recovery is run again.
//
// A run of recovery (behaviours.h) makes the same stores on every image that it reads the same on. At each crash point
// of the run (recovery_cuts.h) the images are a box as well. Lines that recovery has stored to hold what its own stores
// leave; the others hold what the first cut left. These images are covered like those of any crash point, by the same
// tree of reads. Their outcomes must be legal after the first cut.
#include <algorithm>
#include <iterator>

#include "checker/exploration/walks/explorer.h"

namespace powercut {
namespace {

// Images of one run of recovery at one crash point that are traced for what its lines held before.
constexpr int kMostBases = 8;

// The members of the box on which the lines are as in `base`; the others go to `rest`, disjoint. Nothing when there are
// none.
std::optional<Box> part_with(const std::map<uint64_t, Content>& base, const LineSets& sets, const uint8_t* pool,
                             Box box, std::vector<Box>* rest) {
  std::vector<Box> others;
  for (const auto& [line, content] : base) {
    const auto set = std::ranges::lower_bound(sets, line, {}, &LineSet::line);
    if (set == sets.end() || (*set)->line != line) {
      if (content_at(pool, line) != content) return std::nullopt;
      continue;
    }
    std::vector<uint32_t>& contents = box[static_cast<size_t>(set - sets.begin())];
    std::vector<uint32_t> same, other;
    for (const uint32_t number : contents) ((*set)->contents[number] == content ? same : other).push_back(number);
    if (same.empty()) return std::nullopt;
    if (!other.empty()) {
      contents = std::move(other);
      others.push_back(box);
    }
    contents = std::move(same);
  }
  std::ranges::move(others, std::back_inserter(*rest));
  return box;
}

}  // namespace

void ProgramExplorer::cut_recoveries() {
  cut_all_ = covered_ == follower_->frontier().states();
  BigInt traced = 0;
  for (const Behaviours::Answered& one : answered_) {
    traced += size_of(one.box);
    if (limits_.stopped()) cut_all_ = false;
    if (!limits_.stopped()) cut_recovery(one);
  }
  // Images that were run without the tracer: nobody knows the stores of recovery there.
  if (traced < covered_) cut_all_ = false;
  answered_.clear();
}

void ProgramExplorer::cut_recovery(const Behaviours::Answered& answered) {
  // A recovery that fails is a finding without a second cut.
  if (!runs_[answered.outcome].ok()) return;
  std::vector<Box> open = {answered.box};
  for (int traced = 0; !open.empty();) {
    Box box = std::move(open.back());
    open.pop_back();
    bool known = false;
    for (size_t i = 0; answered.run < cuts_.size() && i < cuts_[answered.run].size() && !known; ++i) {
      const std::shared_ptr<const RecoveryCuts> cuts = cuts_[answered.run][i];
      const auto part = part_with(cuts->base, point_.sets, pool_, box, &open);
      if (!part) continue;
      known = true;
      cut_recovery(*part, *cuts);
    }
    if (known) continue;
    if (traced++ == kMostBases || limits_.stopped() || !tracing_ || !trace({box})) {
      cut_all_ = false;
      return;
    }
    open.push_back(std::move(box));
  }
}

void ProgramExplorer::cut_recovery(const Box& box, const RecoveryCuts& cuts) {
  if (cuts.truncated) cut_all_ = false;
  const LineSets outer = point_.sets;
  const BigInt covered = covered_;
  for (const RecoveryCuts::Point& point : cuts.points) {
    if (limits_.stopped()) {
      cut_all_ = false;
      break;
    }
    point_.sets = outer;
    inner_point(box, {&cuts, &point});
  }
  inner_.reset();
  point_.inner = false;
  point_.sets = outer;
  covered_ = covered;
  // The workers' images go back to the contents that the first cut left.
  for (const auto& [line, content] : cuts.base) workers_->base(line, content_at(pool_, line));
}

void ProgramExplorer::inner_point(const Box& box, const Inner& inner) {
  std::vector<LineSet> others;
  others.reserve(point_.sets.size());
  LineSets sets;
  const std::vector<LineSet>& own = inner.point->sets;
  for (size_t i = 0; i < point_.sets.size(); ++i) {
    const LineSet& set = *point_.sets[i];
    if (std::ranges::binary_search(own, set.line, {}, &LineSet::line)) continue;
    LineSet& other = others.emplace_back();
    other.line = set.line;
    for (const uint32_t content : box[i]) {
      if (content == set.visible) other.visible = static_cast<uint32_t>(other.contents.size());
      other.contents.push_back(set.contents[content]);
    }
    if (!std::ranges::binary_search(box[i], set.visible)) other.visible = static_cast<uint32_t>(box[i].size() - 1);
    sets.push_back(&other);
  }
  for (const LineSet& set : own) sets.push_back(&set);
  std::ranges::sort(sets, {}, &LineSet::line);
  point_.sets = std::move(sets);
  inner_ = inner;
  point_.inner = true;
  covered_ = 0;
  std::vector<Judged> judged_images;
  cover(&judged_images);
  if (covered_ < state_count(point_.sets)) cut_all_ = false;
  for (const Judged& one : judged_images) {
    if (const auto violation = judged(one.outcome)) explain_inner(one.choice, *violation);
  }
}

}  // namespace powercut
