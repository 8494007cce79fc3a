#include "checker/exploration/walks/explorer.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "checker/subjects/program/outputs/finding.h"

namespace powercut {
namespace {

// Walks over the trace: how deep each walk goes, and whether it leaves out crash points that this depth will hardly
// cover, judging by the coverage of earlier runs. Each depth tries `kMore` times as many runs of a crash point as the
// depth before. The last depth makes as many traced runs as take about as long as a sample: a missing flush can leave
// more behaviours than anybody waits for.
struct WalkPlan {
  int depth;
  bool promising;
};
constexpr WalkPlan kWalks[] = {{1, false}, {2, true}, {2, false}, {3, true}, {3, false}, {4, false}};
constexpr int kDepths = 4;
constexpr uint64_t kTracedOfAPoint = 64, kMore = 8;
// Images of a box that is too large are looked at before the last walk.
constexpr uint64_t kFirstSample = 8;
// Boxes of which an image is traced at a time, whatever the number of workers: `kTracedAtOnce` at first, and later a
// quarter of the traced runs that the crash point has had. The share keeps all cores busy where there are many. One
// traced image may answer for another box, so no more are traced at a time.
constexpr size_t kTracedAtOnce = 4, kMostTracedAtOnce = 64, kTracedShare = 4;
// Traced runs in a row that each answer for fewer images than a traced run is worth, before a crash point is given up.
constexpr int kPoorRuns = 8;
// Images of a crash point, and of the whole run, that are run although a behaviour answers for them.
constexpr size_t kCheckedOfAPoint = 2, kChecked = 512;

// Seconds after the end of a budget in which the first walk counts the crash points that are left.
constexpr double kMostCounting = 1;

constexpr const char* kOtherEnd = "a run comes to another end when it must report its reads";

}  // namespace

ProgramExplorer::ProgramExplorer(const ProgramOptions& options, const ProgramCommands& commands, Begin begin,
                                 const Pools& pools, ImageWorkers* workers, const ExpectedOutputs* expected,
                                 const ProgramListener& listener)
    : options_(options),
      commands_(commands),
      begin_(std::move(begin)),
      pool_(pools.at_hand),
      pool_ahead_(pools.ahead),
      workers_(workers),
      expected_(expected),
      listener_(listener),
      limits_(options, listener, workers, &out_),
      point_(pools.at_hand),
      runs_(options, listener, workers, &point_, &limits_, &out_),
      tracing_(commands.traceable()),
      recovery_stacks_(listener.modules),
      told_modules_(listener.modules.size()) {}

ProgramExplored ProgramExplorer::explore() {
  for (const WalkPlan& plan : kWalks) {
    // Only traced runs tell which crash points are nearly covered.
    if (plan.promising && !tracing_) continue;
    first_ = plan.depth == 1;
    last_ = plan.depth == kDepths;
    promising_ = plan.promising;
    effort_ = {workers_->report() ? options_.images : kTracedOfAPoint, options_.images};
    for (int depth = plan.depth; depth < kDepths; ++depth) {
      effort_ = {std::max<uint64_t>(1, effort_.traced / kMore), std::max<uint64_t>(2, effort_.images / kMore)};
    }
    if (!walk()) break;
  }
  // A short run has had few images. Images of all its crash points are repeated until that tells something: those of
  // the last crash point alone may be the ones on which recovery has nothing to do.
  if (!limits_.stopped()) runs_.repeat_at_the_end([this](const auto& wanted) { return repeat_kept(wanted); });
  runs_.repeat_in_other_seconds([this] { return repeat_kept([] { return true; }); });
  // A crash point that is open only because cuts inside recovery are missing counts as covered.
  std::set<uint64_t> open_operations;
  for (const auto& [number, open] : open_) {
    if (open.covered == open.states) continue;
    ++out_.sampled_points;
    if (open.operation) open_operations.insert(*open.operation);
  }
  if (out_.operations) out_.operations->second = open_operations.size();
  if (commands_.cut) out_.nested_complete = open_.empty() && !out_.interrupted;
  out_.outcomes = runs_.memo().outcomes();
  out_.behaviours = behaviours_.size();
  return std::move(out_);
}

bool ProgramExplorer::walk() {
  points_ = points_of_walk();
  if (!first_) {
    if (open_.empty() || limits_.stopped()) return false;
    if (points_.ordinals().empty()) return true;
    workers_->clear();
    point_.names = ImageNames(pool_);
    operations_ = {};
    stored_outside_ = false;
    last_store_ = 0;
    point_.sets.clear();  // they are the last follower's
  }
  ahead_.reset();
  auto begun = begin_(pool_);
  if (!begun) {
    out_.troubles.push_back(begun.error().message());
    return false;
  }
  follower_ = std::move(*begun);
  // Cuts inside recovery put lines into the images that no crash point tells of.
  if (pool_ahead_ != nullptr && !commands_.cut) {
    auto ahead = begin_(pool_ahead_);
    if (ahead) ahead_.emplace(std::move(*ahead), pool_ahead_, points_, workers_);
  }
  const auto saw = [this](const Event& event) {
    operations_.apply(event);
    if (event.kind == EventKind::kFork) at_fork_ = {stored_outside_, last_store_};
    if (event.kind == EventKind::kBack) std::tie(stored_outside_, last_store_) = at_fork_;
    if (event.kind == EventKind::kOpEnd) stored_outside_ = false;
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    stored_outside_ = true;
    last_store_ = event.stack;
  };
  size_t visited = 0;
  while (follower_->next(saw)) {
    point_.ordinal = follower_->instant().ordinal;
    if (first_) out_.crash_points = follower_->crash_points();
    if (follower_->trouble()) {
      if (first_) found(finding_of(*follower_->trouble(), operations_, *follower_));
      continue;
    }
    if (!points_.has(follower_->instant().ordinal)) continue;
    ++visited;
    if (!begin_point()) return false;
    // After the end of the budget the first walk goes on and counts the crash points that are left.
    if (!limits_.stopped()) crash_point();
    if (first_ && out_.out_of_time && limits_.seconds() >= options_.budget_seconds + kMostCounting) {
      out_.counted = false;
      return false;
    }
    if (out_.interrupted || (!first_ && (visited == points_.ordinals().size() || limits_.stopped())))
      return !limits_.stopped();
  }
  if (!first_) {
    return apart("a walk over the trace came to " + std::to_string(visited) + " of its " +
                 std::to_string(points_.ordinals().size()) + " crash points");
  }
  out_.searched = follower_->searched();
  if (follower_->error()) out_.troubles.push_back(follower_->error()->message());
  if (out_.searched.empty() && operations_.begun() > 0) out_.operations = {operations_.begun(), 0};
  return true;
}

bool ProgramExplorer::repeat_kept(const std::function<bool()>& wanted) {
  workers_->clear();
  point_.names = ImageNames(pool_);
  ahead_.reset();
  auto begun = begin_(pool_);
  if (!begun) return limits_.ended_by(begun.error());
  follower_ = std::move(*begun);
  const uint64_t last = runs_.kept().rbegin()->first;
  while (follower_->next([](const Event&) {})) {
    const uint64_t number = point_.ordinal = follower_->instant().ordinal;
    const auto kept = runs_.kept().find(number);
    if (kept == runs_.kept().end()) continue;
    if (!wanted()) return true;
    const BaseLines changes = follow_images(follower_.get(), pool_, &point_.names);
    if (const auto wrong = workers_->next(number, changes)) return limits_.ended_by(*wrong);
    point_.sets = follower_->frontier().sets();
    if (!runs_.repeat(kept->second, 1)) return false;
    if (number == last) return true;
  }
  return !follower_->error() || limits_.ended_by(usage_error(*follower_->error()));
}

WalkPoints ProgramExplorer::points_of_walk() const {
  if (first_) return {};
  const auto wanted = [this](const Open& open) {
    if (!promising_ || open.traced == 0) return true;
    return (open.states - open.covered) * open.traced <= open.covered * effort_.traced;
  };
  std::vector<uint64_t> out;
  for (const auto& [number, open] : open_) {
    if (wanted(open)) out.push_back(number);
  }
  return WalkPoints(std::move(out));
}

bool ProgramExplorer::begin_point() {
  const uint64_t number = follower_->instant().ordinal;
  if (const auto wrong = workers_->next(number, follow_images(follower_.get(), pool_, &point_.names))) {
    return limits_.ended_by(*wrong);
  }
  if (first_) count_point();
  const BigInt &before = open_[number].states, &now = follower_->frontier().states();
  if (before == now) return true;
  return apart("crash point " + std::to_string(number) + " has " + now.str() +
               " images in one walk over the trace, and " + before.str() + " in another one");
}

bool ProgramExplorer::apart(const std::string& what) {
  out_.came_apart = true;
  out_.troubles.push_back("powercut-engine: " + what +
                          ". This is a defect of powercut, so there is no verdict. Report it with the trace");
  return false;
}

void ProgramExplorer::count_point() {
  const BigInt states = follower_->frontier().states();
  out_.states += states;
  out_.truncated = out_.truncated || follower_->frontier().truncated();
  if (commands_.print() && operations_.begun() == 0) {
    ++out_.before_operations;
  } else if (commands_.print() && expected_->legal(operations_).empty()) {
    ++out_.unjudged_outputs;
    out_.overlapped = out_.overlapped || operations_.begun_since_settled() > 1;
  }
  Open& open = open_[follower_->instant().ordinal];
  open.states = states;
  if (operations_.current()) open.operation = operations_.current()->index;
}

void ProgramExplorer::crash_point() {
  const auto open = open_.find(follower_->instant().ordinal);
  explained_ = std::move(open->second.explained);
  covered_ = 0;
  point_.sets = follower_->frontier().sets();
  legal_ = expected_->legal(operations_);
  std::vector<Judged> judged_images;
  const uint64_t traced = out_.traced;
  cover(&judged_images);
  open->second.traced += out_.traced - traced;
  uint64_t reordered = 0;
  for (const Judged& one : judged_images) {
    const ProgramOutcome& outcome = runs_[one.outcome];
    if (const auto violation = judged(one.outcome)) {
      explain(one.choice, *violation);
    } else if (std::ranges::none_of(
                   legal_, [&](const ProgramOutcome* right) { return right->same(outcome) || !right->ok(); })) {
      reordered += legal_.empty() ? 0 : 1;
    }
  }
  // An earlier walk may have come further than a walk that was ended.
  if (covered_ > open->second.covered) {
    out_.covered += covered_ - open->second.covered;
    out_.reordered += reordered - open->second.reordered;
    open->second.covered = covered_;
    open->second.reordered = reordered;
  }
  open->second.explained = std::move(explained_);
  const bool whole = covered_ == follower_->frontier().states();
  if (commands_.cut && !out_.unrepeatable) cut_recoveries();
  if (whole && (!commands_.cut || cut_all_)) open_.erase(open);
}

// ---- one crash point -------------------------------------------------------------------------------

bool ProgramExplorer::cover(std::vector<Judged>* judged) {
  std::vector<Behaviours::Answered> answered;
  std::vector<Box> rest;
  behaviours_.cover(point_.sets, pool_, whole_box(point_.sets), &answered, &rest);
  if (!inner_) answered_ = answered;
  for (const Behaviours::Answered& one : answered) answer(one, judged);
  const bool done = cover_by_traces(&rest, judged) && cover_by_images(std::move(rest), judged);
  check_answers();
  return done;
}

bool ProgramExplorer::cover_by_traces(std::vector<Box>* rest, std::vector<Judged>* judged) {
  // The largest box first: its run may answer for the most.
  std::vector<std::pair<BigInt, Box>> open;
  const auto smaller = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto add = [&](std::vector<Box>* boxes) {
    for (Box& box : *boxes) {
      BigInt size = size_of(box);
      open.emplace_back(std::move(size), std::move(box));
      std::ranges::push_heap(open, smaller);
    }
    boxes->clear();
  };
  add(rest);
  int poor = 0;
  bool goes_on = true;
  for (uint64_t left = effort_.traced; tracing_ && left > 0 && poor < kPoorRuns && goes_on;) {
    std::vector<Box> boxes;
    const size_t at_once = std::clamp<size_t>((effort_.traced - left) / kTracedShare, kTracedAtOnce, kMostTracedAtOnce);
    while (!open.empty() && open.front().first > native_box() && left > 0 && boxes.size() < at_once) {
      std::ranges::pop_heap(open, smaller);
      boxes.push_back(std::move(open.back().second));
      open.pop_back();
      --left;
    }
    if (boxes.empty()) break;
    if (limits_.stopped() || !trace(boxes)) {
      goes_on = !tracing_;  // it was given up, and what is left is looked at otherwise
      add(&boxes);
      break;
    }
    for (Box& box : boxes) {
      std::vector<Behaviours::Answered> answered;
      std::vector<Box> unknown;
      behaviours_.cover(point_.sets, pool_, std::move(box), &answered, &unknown);
      BigInt won = 0;
      for (const Behaviours::Answered& one : answered) {
        won += size_of(one.box);
        answer(one, judged);
        if (!inner_) answered_.push_back(one);
      }
      poor = won < native_box() ? poor + 1 : 0;
      add(&unknown);
    }
  }
  for (auto& [size, box] : open) rest->push_back(std::move(box));
  return goes_on;
}

// A run that reports its reads takes little longer than one that does not, and answers at later crash points, too.
uint64_t ProgramExplorer::native_box() const { return workers_->report() ? 0 : options_.native_box; }

bool ProgramExplorer::cover_by_images(std::vector<Box> rest, std::vector<Judged>* judged) {
  std::ranges::sort(rest, {}, size_of);
  uint64_t left = effort_.images;
  for (const Box& box : rest) {
    if (left == 0) break;
    const uint64_t most = last_ ? left : std::min(left, kFirstSample);
    const std::vector<Choice> choices = size_of(box) <= left ? all_choices(box) : sample(box, most);
    if (!look_at(choices, judged)) return false;
    left -= std::min<uint64_t>(left, choices.size());
  }
  return true;
}

bool ProgramExplorer::look_at(const std::vector<Choice>& choices, std::vector<Judged>* judged) {
  std::vector<ImageMemo::Id> outcomes;
  const bool done = runs_.run(choices, &outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) judged->push_back({choices[i], outcomes[i]});
  covered_ += outcomes.size();
  return done;
}

std::vector<Choice> ProgramExplorer::sample(const Box& box, uint64_t most) const {
  // One crash point's draw does not depend on earlier draws.
  return sample_of(box, point_.sets, most, options_.seed * 0x9e3779b97f4a7c15 + point_.ordinal);
}

void ProgramExplorer::answer(const Behaviours::Answered& answered, std::vector<Judged>* judged) {
  judged->push_back({least_lost(point_.sets, answered.box), answered.outcome});
  covered_ += size_of(answered.box);
  // Now and then one of the others is run, to see that recovery has read nothing that the tracer did not tell of.
  if (checked_ >= kChecked || checked_ >= kCheckedOfAPoint * out_.crash_points) return;
  ++checked_;
  to_check_.push_back({sample(answered.box, 3).back(), answered.outcome});
}

void ProgramExplorer::check_answers() {
  std::vector<Choice> choices;
  std::vector<ImageMemo::Id> outcomes;
  for (const Judged& one : std::exchange(to_check_, {})) {
    choices.push_back(one.choice);
    outcomes.push_back(one.outcome);
  }
  runs_.check(choices, outcomes);
}

bool ProgramExplorer::give_up(const std::string& why) {
  tracing_ = false;
  out_.untraced_because = why;
  return false;
}

bool ProgramExplorer::trace(const std::vector<Box>& boxes) {
  std::vector<Choice> choices;
  std::vector<ImageName> names;
  for (const Box& box : boxes) {
    choices.push_back(least_lost(point_.sets, box));
    names.push_back(point_.name(choices.back()));
  }
  // A run under the tracer costs as much as many native runs, so an image is run without the tracer first. A run that
  // reports its reads counts like any other run, and repetitions tell whether it deserves to.
  const bool reports = workers_->report();
  std::vector<ImageMemo::Id> outcomes;
  if (!reports && !runs_.run(choices, &outcomes)) return false;
  const auto hangs = [](const ProgramOutcome& outcome) { return outcome.kind == ProgramOutcome::Kind::kTimeout; };
  // A run that never ends natively would take even longer under the tracer.
  if (std::ranges::any_of(outcomes, [&](ImageMemo::Id outcome) { return hangs(runs_[outcome]); })) {
    return give_up("recovery hangs");
  }
  if (reports) look_ahead(choices.size());
  auto traced = workers_->trace(point_.sets, choices, names);
  if (!traced && (listener_.interrupted() || limits_.late() || workers_->came_apart()))
    return limits_.ended_by(traced.error());
  if (!traced) return give_up(traced.error().message());
  for (const ImageWorker::Traced& one : *traced) {
    ++out_.traced;
    if (!one.reads) return give_up(one.why);
  }
  if (reports) {
    if (std::ranges::any_of(*traced, [&](const ImageWorker::Traced& one) { return hangs(one.outcome); })) {
      return runs_.run(choices, &outcomes) && give_up("recovery hangs");
    }
    const std::optional<bool> alike = runs_.take_reported(choices, *traced, &outcomes);
    if (!alike) return false;
    if (!*alike) return workers_->distrust_reports(kOtherEnd) ? trace(boxes) : give_up(kOtherEnd);
  }
  for (size_t i = 0; i < traced->size(); ++i) {
    const ImageWorker::Traced& one = (*traced)[i];
    if (!one.outcome.alike(runs_[outcomes[i]], options_.ordered)) {
      return give_up("recovery gives another result under the tracer than without it");
    }
    const auto run = behaviours_.add(words_of(one.reads->reads(), point_.sets, pool_, choices[i]), outcomes[i]);
    if (!run) return give_up("there is no room for the reads of recovery, or their order differs each time");
    if (!one.stream.empty() && !keep_cuts(one, choices[i], *run)) return false;
  }
  return true;
}

void ProgramExplorer::look_ahead(size_t traced) {
  // Runs that do not end would hold workers up.
  if (!ahead_ || out_.timeouts > 0) return;
  for (size_t room = workers_->room(traced); room > 0 && ahead_->next();) {
    const LineSets sets = ahead_->sets();
    std::vector<Behaviours::Answered> answered;
    std::vector<Box> rest;
    behaviours_.cover(sets, ahead_->pool(), whole_box(sets), &answered, &rest);
    // The largest boxes come first, as in cover_by_traces().
    const auto most = rest.begin() + static_cast<std::ptrdiff_t>(std::min(rest.size(), kTracedAtOnce));
    std::ranges::partial_sort(rest, most, std::ranges::greater(), size_of);
    rest.erase(most, rest.end());
    auto copies = std::make_shared<std::vector<LineSet>>();
    for (const LineSet* set : sets) copies->push_back(*set);
    for (const Box& box : rest) {
      const Choice choice = least_lost(sets, box);
      workers_->trace_ahead(copies, choice, ahead_->name(sets, choice));
    }
    room -= std::min(room, rest.size());
  }
}

bool ProgramExplorer::keep_cuts(const ImageWorker::Traced& traced, const Choice& choice, uint32_t run) {
  if (inner_) {  // cuts go one deep
    unlink(traced.stream.c_str());
    return true;
  }
  const auto before = [&](uint64_t line) {
    const auto set = std::ranges::lower_bound(point_.sets, line, {}, &LineSet::line);
    if (set != point_.sets.end() && (*set)->line == line) {
      return (*set)->contents[choice[static_cast<size_t>(set - point_.sets.begin())]];
    }
    return content_at(pool_, line);
  };
  auto cuts = RecoveryCuts::of(traced.stream, workers_->pools(), traced.images, before, *commands_.cut,
                               traced.stream + ".pct", &recovery_stacks_);
  unlink(traced.stream.c_str());
  if (!cuts) return give_up(cuts.error().message());
  cuts_.resize(std::max<size_t>(cuts_.size(), run + 1));
  cuts_[run].push_back(std::make_shared<const RecoveryCuts>(std::move(*cuts)));
  return true;
}

std::optional<ProgramViolation> ProgramExplorer::judged(ImageMemo::Id outcome) const {
  return judge(runs_[outcome], legal_, *expected_, operations_, commands_);
}

}  // namespace powercut
