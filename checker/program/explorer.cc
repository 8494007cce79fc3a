#include "checker/program/explorer.h"

#include <algorithm>
#include <tuple>

#include "checker/program/program_finding.h"

namespace powercut {
namespace {

// Images that are handed to the workers at once, at most: between two such portions the budgets are looked at.
constexpr size_t kMostPortion = 64;
// Seconds that may go into runs that do not end, if that is more than so many of them.
constexpr double kMostWaited = 20;
constexpr uint64_t kLeastTimeouts = 3;
// Violating images of one kind that are explained at one crash point: each may have other lost stores.
constexpr size_t kExplainedOfAKind = 8;
// Contents of a line that are tried for losing less.
constexpr uint32_t kTriedOfALine = 64;
// Lines that are tried one by one for being decisive.
constexpr size_t kMostDecisive = 512;

// Traced runs in a row that each answer for fewer images than that, before a crash point is given up.
constexpr int kPoorRuns = 8;
// Traced runs of one crash point, about as long as a sample of it takes. A missing flush can leave more behaviours than
// anybody waits for; what is left of the crash point is sampled then.
constexpr int kTracedOfAPoint = 32;
// Images of a crash point, and of the whole run, that are run although a behaviour answers for them.
constexpr size_t kCheckedOfAPoint = 2, kChecked = 512;

// So many images are run twice, and of those behind them one of so many.
constexpr uint64_t kTwice = 1024, kLaterEvery = 8;
// So many repetitions at least. A recovery that differs in 1 % of its runs stays unnoticed with a chance of 5 % then.
constexpr uint64_t kLeastRepeats = 300;
// How often an image is repeated at most for that, and for how long: so many seconds, or this part of the run's.
constexpr int kMostRounds = 7;
constexpr double kMostRepeatSeconds = 5, kRepeatShare = 0.25;
// Runs of a finding's image before it is told of.
constexpr int kConfirmed = 8;

// Every choice of the box, in the order of its contents.
std::vector<Choice> all_choices(const Box& box) {
  std::vector<Choice> out;
  std::vector<size_t> at(box.size());
  for (;;) {
    Choice& choice = out.emplace_back();
    for (size_t i = 0; i < box.size(); ++i) choice.push_back(box[i][at[i]]);
    size_t i = 0;
    while (i < box.size() && ++at[i] == box[i].size()) at[i++] = 0;
    if (i == box.size()) return out;
  }
}

bool holds(const std::vector<uint32_t>& contents, uint32_t content) {
  return std::binary_search(contents.begin(), contents.end(), content);
}

}  // namespace

ProgramExplorer::ProgramExplorer(const ProgramOptions& options, const ProgramCommands& commands,
                                 TraceFollower* follower, const uint8_t* pool, ImageWorkers* workers,
                                 const ExpectedOutputs* expected, const ProgramListener& listener)
    : options_(options),
      commands_(commands),
      follower_(follower),
      pool_(pool),
      workers_(workers),
      expected_(expected),
      listener_(listener),
      names_(pool),
      tracing_(commands.tracer.has_value()) {}

double ProgramExplorer::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool ProgramExplorer::stopped() {
  if (listener_.interrupted()) out_.interrupted = true;
  if (options_.budget_seconds > 0 && seconds() >= options_.budget_seconds) out_.out_of_time = true;
  if (options_.budget_executions > 0 && out_.executions >= options_.budget_executions) out_.out_of_executions = true;
  const double waited = static_cast<double>(out_.timeouts) * (options_.timeout + second_timeout(options_.timeout));
  if (out_.timeouts >= kLeastTimeouts && waited >= kMostWaited) out_.hung = true;
  return out_.interrupted || out_.out_of_time || out_.out_of_executions || out_.hung || !out_.troubles.empty();
}

ProgramExplored ProgramExplorer::explore() {
  const auto saw = [this](const Event& event) {
    operations_.apply(event);
    if (event.kind == EventKind::kFork) at_fork_ = {stored_outside_, last_store_};
    if (event.kind == EventKind::kBack) std::tie(stored_outside_, last_store_) = at_fork_;
    if (event.kind == EventKind::kOpEnd) stored_outside_ = false;
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    stored_outside_ = true;
    last_store_ = event.stack;
  };
  while (follower_->next(saw)) {
    if (!follower_->trouble()) follow_images(follower_, pool_, &names_, workers_);
    out_.crash_points = follower_->crash_points();
    if (follower_->trouble()) {
      found(trouble_finding(*follower_->trouble(), operations_, follower_->schedule(), context()));
      continue;
    }
    out_.states += follower_->frontier().states();
    out_.truncated = out_.truncated || follower_->frontier().truncated();
    // After the end of the budget the walk goes on and counts what is left.
    if (!stopped()) crash_point();
    if (out_.interrupted) break;
  }
  // A short run has had few images: those of its end are repeated until that tells something.
  if (out_.crash_points > 0 && images_ > 0 && !stopped()) {
    std::vector<Choice> last = sample(whole_box(sets_), kMostPortion);
    std::erase_if(last, [&](const Choice& choice) {
      const auto outcome = memo_.find(names_.of(sets_, choice));
      return !outcome || memo_[*outcome].kind == ProgramOutcome::Kind::kTimeout;
    });
    while (!last.empty() && wants_repeats() && repeat(last, 1)) {
    }
  }
  out_.searched = follower_->searched();
  if (follower_->error()) out_.troubles.push_back(follower_->error()->message());
  out_.outcomes = memo_.outcomes();
  out_.behaviours = behaviours_.size();
  return std::move(out_);
}

void ProgramExplorer::crash_point() {
  sets_ = follower_->frontier().sets();
  explained_.clear();
  legal_ = expected_->legal(operations_);
  if (commands_.dump && legal_.empty()) ++out_.unjudged_outputs;
  const BigInt before = out_.covered;
  std::vector<Judged> judged_images;
  if (tracing_ || behaviours_.size() > 0) {
    cover_by_behaviours(&judged_images);
  } else {
    look_at(whole_box(sets_), options_.images, &judged_images);
  }
  if (out_.covered - before < follower_->frontier().states()) ++out_.sampled_points;
  for (const Judged& one : judged_images) {
    const ProgramOutcome& outcome = memo_[one.outcome];
    if (const auto violation = judged(one.outcome)) {
      explain(one.choice, *violation);
    } else if (std::ranges::none_of(legal_, [&](const ProgramOutcome* right) { return right->same(outcome); })) {
      out_.reordered += legal_.empty() ? 0 : 1;
    }
  }
}

bool ProgramExplorer::look_at(const Box& box, uint64_t most, std::vector<Judged>* judged) {
  const std::vector<Choice> choices = size_of(box) <= most ? all_choices(box) : sample(box, most);
  std::vector<ImageMemo::Id> outcomes;
  const bool done = run(choices, &outcomes);
  for (size_t i = 0; i < outcomes.size(); ++i) judged->push_back({choices[i], outcomes[i]});
  out_.covered += outcomes.size();
  return done;
}

bool ProgramExplorer::cover_by_behaviours(std::vector<Judged>* judged) {
  std::vector<Behaviours::Answered> answered;
  std::vector<Box> rest;
  behaviours_.cover(sets_, pool_, whole_box(sets_), 0, &answered, &rest);
  int poor = 0, traced = 0;
  // What is given up is sampled together, as much as a crash point without a tracer would be.
  uint64_t most = options_.images;
  while (!rest.empty()) {
    const Box box = std::move(rest.back());
    rest.pop_back();
    const BigInt size = size_of(box);
    if (size > options_.native_box && tracing_ && poor < kPoorRuns && traced < kTracedOfAPoint) {
      if (stopped()) return false;
      ++traced;
      const size_t known = behaviours_.size();
      if (trace(box)) {
        const size_t before = answered.size();
        behaviours_.cover(sets_, pool_, box, known, &answered, &rest);
        BigInt won = 0;
        for (size_t i = before; i < answered.size(); ++i) won += size_of(answered[i].box);
        poor = won < options_.native_box ? poor + 1 : 0;
      } else {
        rest.push_back(box);
      }
      continue;
    }
    const size_t before = judged->size();
    if (!look_at(box, size <= options_.native_box ? options_.native_box : std::max<uint64_t>(most, 2), judged))
      return false;
    if (size > options_.native_box) most -= std::min<uint64_t>(most, judged->size() - before);
  }
  for (const Behaviours::Answered& one : answered) answer(one, judged);
  return true;
}

void ProgramExplorer::answer(const Behaviours::Answered& answered, std::vector<Judged>* judged) {
  const uint32_t outcome = behaviours_[answered.behaviour].outcome;
  judged->push_back({least_lost(answered.box), outcome});
  out_.covered += size_of(answered.box);
  // Now and then one of the others is run, to see that recovery has read nothing that the tracer did not tell of.
  if (checked_ >= kChecked || checked_ >= kCheckedOfAPoint * out_.crash_points) return;
  ++checked_;
  const auto again = outcome_of(sample(answered.box, 3).back());
  if (again && !memo_[*again].alike(memo_[outcome], options_.ordered)) not_repeatable(memo_[outcome], memo_[*again]);
}

bool ProgramExplorer::trace(const Box& box) {
  const auto give_up = [&](const std::string& why) {
    tracing_ = false;
    out_.untraced_because = why;
    return false;
  };
  const Choice choice = least_lost(box);
  const auto outcome = outcome_of(choice);
  if (!outcome) return give_up("the run was ended");
  // What never ends natively would take even longer under the tracer.
  if (memo_[*outcome].kind == ProgramOutcome::Kind::kTimeout) return give_up("recovery hangs");
  auto traced = workers_->trace(sets_, choice);
  ++out_.executions;
  ++out_.traced;
  if (!traced) return give_up(traced.error().message());
  if (!traced->reads) return give_up(traced->why);
  if (!traced->outcome.alike(memo_[*outcome], options_.ordered)) {
    return give_up("recovery gives another result under the tracer than without it");
  }
  Behaviour behaviour;
  behaviour.outcome = *outcome;
  for (const auto& [line, mask] : traced->reads->lines()) {
    Content content;
    std::memcpy(content.bytes.data(), pool_ + line * kLineSize, kLineSize);
    behaviour.reads.push_back({line, mask, content});
  }
  for (ReadLine& read : behaviour.reads) {
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i]->line == read.line) read.content = sets_[i]->contents[choice[i]];
    }
  }
  behaviours_.add(std::move(behaviour));
  return true;
}

void ProgramExplorer::not_repeatable(const ProgramOutcome& once, const ProgramOutcome& again) {
  const auto text = [](const ProgramOutcome& outcome) {
    return std::string(name_of(outcome.step)) + (outcome.ok() ? " succeeded" : " failed") + " with " +
           std::to_string(outcome.code);
  };
  out_.unrepeatable = true;
  out_.troubles.push_back(
      "recovery came to different ends on images that it cannot tell apart (" + text(once) + "; " + text(again) +
      "): it depends on something other than the bytes of its pools, such as time, random numbers or other files");
}

std::optional<ProgramViolation> ProgramExplorer::judged(ImageMemo::Id outcome) const {
  return judge(memo_[outcome], legal_, *expected_, operations_, options_.ordered);
}

Choice ProgramExplorer::least_lost(const Box& box) const {
  Choice out;
  for (size_t i = 0; i < box.size(); ++i) {
    out.push_back(holds(box[i], sets_[i]->visible) ? sets_[i]->visible : box[i].back());
  }
  return out;
}

// Distinct choices of the box, as many as `most` at most.
std::vector<Choice> ProgramExplorer::sample(const Box& box, uint64_t most) const {
  std::set<Choice> seen;
  std::vector<Choice> out;
  const auto add = [&](const Choice& choice) {
    if (out.size() < most && seen.insert(choice).second) out.push_back(choice);
  };
  Choice floor;
  for (const std::vector<uint32_t>& contents : box) floor.push_back(contents.front());
  const Choice visible = least_lost(box);
  add(floor);
  add(visible);
  for (size_t i = 0; i < box.size(); ++i) {
    Choice one = visible;
    one[i] = floor[i];
    add(one);
    one = floor;
    one[i] = visible[i];
    add(one);
  }
  // One crash point's draw does not depend on what was drawn before it.
  std::mt19937_64 random(options_.seed * 0x9e3779b97f4a7c15 + follower_->instant().ordinal);
  const BigInt size = size_of(box);
  const uint64_t wanted = size < most ? static_cast<uint64_t>(size) : most;
  // A draw may repeat itself: in a box that is hardly larger than the sample, often.
  for (uint64_t draws = 0; out.size() < wanted && draws < 64 * wanted; ++draws) {
    Choice choice;
    for (const std::vector<uint32_t>& contents : box) choice.push_back(contents[random() % contents.size()]);
    add(choice);
  }
  return out;
}

bool ProgramExplorer::run(const std::vector<Choice>& choices, std::vector<ImageMemo::Id>* outcomes) {
  for (size_t begin = 0; begin < choices.size();) {
    // The next portion of images that are not known, and the known ones between them.
    std::vector<Choice> unknown;
    std::vector<ImageName> unknown_names;
    std::vector<ImageName> names;
    size_t end = begin;
    for (; end < choices.size() && unknown.size() < portion_; ++end) {
      names.push_back(names_.of(sets_, choices[end]));
      if (memo_.find(names.back())) continue;
      unknown.push_back(choices[end]);
      unknown_names.push_back(names.back());
    }
    if (!unknown.empty()) {
      if (stopped()) return false;
      auto ran = workers_->run(sets_, unknown);
      if (!ran) {
        if (listener_.interrupted()) {
          out_.interrupted = true;
        } else {
          out_.troubles.push_back(ran.error().message());
        }
        return false;
      }
      out_.executions += unknown.size();
      uint64_t timeouts = 0;
      for (const ProgramOutcome& outcome : *ran) {
        timeouts += outcome.kind == ProgramOutcome::Kind::kTimeout ? 1 : 0;
        out_.left_processes = out_.left_processes || outcome.left_processes;
      }
      out_.timeouts += timeouts;
      // Those that block are waited for one by one, so that it can be given up.
      portion_ = timeouts > 0 ? 1 : std::min(2 * portion_, kMostPortion);
      for (size_t i = 0; i < unknown_names.size(); ++i) memo_.add(unknown_names[i], (*ran)[i]);
      if (!repeat_some(unknown, *ran)) return false;
      listener_.progressed(out_);
    }
    for (const ImageName& name : names) outcomes->push_back(*memo_.find(name));
    begin = end;
  }
  return true;
}

bool ProgramExplorer::wants_repeats() const {
  return out_.repeats < kLeastRepeats && repeat_seconds_ < std::max(kMostRepeatSeconds, kRepeatShare * seconds());
}

bool ProgramExplorer::repeat_some(const std::vector<Choice>& ran, const std::vector<ProgramOutcome>& outcomes) {
  std::vector<Choice> again;
  for (size_t i = 0; i < ran.size(); ++i) {
    ++images_;
    if (images_ > kTwice && images_ % kLaterEvery != 0) continue;
    if (outcomes[i].kind != ProgramOutcome::Kind::kTimeout) again.push_back(ran[i]);
  }
  if (again.empty()) return true;
  // The one that every image gets is at other addresses.
  elsewhere_ = false;
  if (!repeat(again, 1)) return false;
  const double start = seconds();
  for (int round = 1; round < kMostRounds && wants_repeats(); ++round) {
    if (!repeat(again, 1)) return false;
  }
  repeat_seconds_ += seconds() - start;
  return true;
}

bool ProgramExplorer::repeat(const std::vector<Choice>& choices, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (stopped()) return false;
    elsewhere_ = !elsewhere_;
    const auto ran = workers_->run(sets_, choices, elsewhere_);
    if (!ran) {
      if (listener_.interrupted()) {
        out_.interrupted = true;
      } else {
        out_.troubles.push_back(ran.error().message());
      }
      return false;
    }
    out_.repeats += choices.size();
    for (size_t i = 0; i < choices.size(); ++i) {
      const ProgramOutcome& once = memo_[*memo_.find(names_.of(sets_, choices[i]))];
      if ((*ran)[i].kind == ProgramOutcome::Kind::kTimeout) ++out_.timeouts;
      if ((*ran)[i].alike(once, options_.ordered)) continue;
      not_repeatable(once, (*ran)[i]);
      return false;
    }
  }
  return true;
}

std::optional<ImageMemo::Id> ProgramExplorer::outcome_of(const Choice& choice) {
  std::vector<ImageMemo::Id> outcomes;
  if (!run({choice}, &outcomes)) return std::nullopt;
  return outcomes[0];
}

bool ProgramExplorer::shows(const Choice& choice, const ProgramViolation& violation) {
  const auto outcome = outcome_of(choice);
  if (!outcome) return false;
  const auto shown = judged(*outcome);
  return shown && shown->invariant == violation.invariant && shown->kind == violation.kind;
}

// With as little lost as one line at a time can tell: nothing of the line, or else its last content that still shows
// the violation, since later contents hold more stores. One missing flush thus comes to one image, whatever else was
// lost.
Choice ProgramExplorer::minimised(Choice choice, const ProgramViolation& violation) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < choice.size(); ++i) {
      if (choice[i] == sets_[i]->visible) continue;
      Choice less = choice;
      less[i] = sets_[i]->visible;
      if (!shows(less, violation)) continue;
      choice = std::move(less);
      changed = true;
    }
  }
  for (size_t i = 0; i < choice.size(); ++i) {
    if (choice[i] == sets_[i]->visible) continue;
    const auto last = static_cast<uint32_t>(sets_[i]->contents.size() - 1);
    for (uint32_t tried = 0; tried < kTriedOfALine && last - tried > choice[i]; ++tried) {
      Choice less = choice;
      less[i] = last - tried;
      if (less[i] == sets_[i]->visible || !shows(less, violation)) continue;
      choice = std::move(less);
      break;
    }
  }
  return choice;
}

// The lines without whose content the violation is not there: those lost, and those that had to persist.
std::vector<bool> ProgramExplorer::decisive(const Choice& choice, const ProgramViolation& violation) {
  std::vector<bool> out(choice.size());
  size_t tried = 0;
  for (size_t i = 0; i < choice.size(); ++i) {
    if (choice[i] != sets_[i]->visible) {
      out[i] = true;
    } else if (tried++ < kMostDecisive) {
      Choice other = choice;
      other[i] = choice[i] == 0 ? 1 : 0;
      out[i] = !shows(other, violation);
    }
  }
  return out;
}

void ProgramExplorer::explain(const Choice& choice, const ProgramViolation& violation) {
  const std::string kind = violation.invariant + "/" + violation.kind;
  size_t of_kind = 0;
  for (const Explained& known : explained_) {
    if (known.kind != kind) continue;
    // It has lost what a least image lost, and more.
    if (std::all_of(known.lost.begin(), known.lost.end(), [&](const auto& l) { return choice[l.first] == l.second; })) {
      return;
    }
    if (++of_kind == kExplainedOfAKind) return;
  }
  Choice visible;
  for (const LineSet* set : sets_) visible.push_back(set->visible);
  const Choice least = shows(visible, violation) ? visible : minimised(choice, violation);
  // Nothing is waited for any more, so the image may lose more than the violation takes, and would pass for another bug
  // of its kind.
  const auto alike = [&](const auto& known) { return known.second["invariant"] == violation.invariant; };
  if (out_.hung && std::any_of(out_.findings.begin(), out_.findings.end(), alike)) return;
  const auto outcome = outcome_of(least);
  if (!outcome) return;
  // One run that blocks is long enough.
  const bool blocks = memo_[*outcome].kind == ProgramOutcome::Kind::kTimeout;
  if (!repeat({least}, blocks ? 1 : kConfirmed) && out_.unrepeatable) return;
  // Nothing is lost, and no operation is under way, or it makes no difference that it ends.
  const bool settled = operations_.begun() > 0 && operations_.in_flight().empty() && !stored_outside_;
  const ProgramOutcome& shows_it = memo_[*outcome];
  const bool lossless = least == visible && (settled || expected_->fails_at_the_end(operations_, shows_it));
  // What the operation before has left is no better whatever this one loses.
  const bool needs_power_cut = !lossless && !expected_->failed_before(operations_, shows_it);
  const std::vector<bool> decided =
      needs_power_cut ? decisive(least, violation) : std::vector<bool>(least.size(), false);
  Explained& explained = explained_.emplace_back(Explained{kind, {}});
  std::vector<Image::Line> lines;
  for (size_t i = 0; i < least.size(); ++i) {
    const LineSet& set = *sets_[i];
    if (least[i] != set.visible) explained.lost.emplace_back(i, least[i]);
    lines.push_back({.line = set.line,
                     .content = set.contents[least[i]],
                     .candidates = static_cast<uint32_t>(set.contents.size()),
                     .decided = decided[i]});
  }
  const auto shown = judged(*outcome);
  Json finding = program_finding(shown ? *shown : violation, memo_[*outcome], lines, operations_, commands_,
                                 needs_power_cut, context());
  finding["last_store"] = {{"stack", frames_json(follower_->reader().stack(last_store_))}};
  found(std::move(finding));
}

FindingContext ProgramExplorer::context() const {
  return {.model = follower_->model(),
          .frontier = follower_->frontier(),
          .history = follower_->history(),
          .timeline = follower_->timeline(),
          .reader = follower_->reader(),
          .instant = follower_->instant(),
          .frames = nullptr,
          .policy = options_.policy()};
}

void ProgramExplorer::found(Json finding) {
  if (follower_->in_tree()) finding["turns"] = turns_json(follower_->schedule(), follower_->reader(), operation_name);
  if (out_.findings.try_emplace(finding["key"].get<std::string>(), finding).second) listener_.found(finding);
}

}  // namespace powercut
