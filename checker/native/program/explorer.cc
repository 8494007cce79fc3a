#include "checker/native/program/explorer.h"

#include <algorithm>

#include "checker/native/program/program_finding.h"

namespace powercut {
namespace {

// Images that are handed to the lanes at once: between two such portions the budgets are looked at.
constexpr size_t kPortion = 64;
// Violating images of one kind that are explained at one crash point: each may have other lost stores.
constexpr size_t kExplainedOfAKind = 8;
// Lines that are tried one by one for being decisive.
constexpr size_t kMostDecisive = 512;

// Every choice of the product, the floor first.
std::vector<Choice> all_choices(const LineSets& sets) {
  std::vector<Choice> out;
  Choice choice(sets.size());
  for (;;) {
    out.push_back(choice);
    size_t i = 0;
    while (i < sets.size() && ++choice[i] == sets[i]->contents.size()) choice[i++] = 0;
    if (i == sets.size()) return out;
  }
}

}  // namespace

ProgramExplorer::ProgramExplorer(const ProgramOptions& options, const ProgramCommands& commands,
                                 TraceFollower* follower, const uint8_t* pool, Lanes* lanes,
                                 const ExpectedOutputs* expected, const ProgramListener& listener)
    : options_(options),
      commands_(commands),
      follower_(follower),
      pool_(pool),
      lanes_(lanes),
      expected_(expected),
      listener_(listener),
      names_(pool) {}

bool ProgramExplorer::stopped() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (listener_.interrupted()) out_.interrupted = true;
  if (options_.budget_seconds > 0 && seconds >= options_.budget_seconds) out_.out_of_time = true;
  if (options_.budget_executions > 0 && out_.executions >= options_.budget_executions) out_.out_of_executions = true;
  return out_.interrupted || out_.out_of_time || out_.out_of_executions || !out_.troubles.empty();
}

ProgramExplored ProgramExplorer::explore() {
  const auto saw = [this](const Event& event) { operations_.apply(event); };
  while (follower_->next(saw)) {
    follow();
    out_.crash_points = follower_->crash_points();
    out_.states += follower_->frontier().states();
    out_.truncated = out_.truncated || follower_->frontier().truncated();
    // After the end of the budget the walk goes on and counts what is left.
    if (!stopped()) crash_point();
    if (out_.interrupted) break;
  }
  if (follower_->reader().error()) out_.troubles.push_back(follower_->reader().error()->message());
  out_.outcomes = memo_.outcomes();
  return std::move(out_);
}

void ProgramExplorer::follow() {
  for (const Frontier::Change& change : follower_->follow()) {
    names_.follow(change.line, follower_->frontier().find(change.line));
    Content first;
    std::memcpy(first.bytes.data(), pool_ + change.line * kLineSize, kLineSize);
    lanes_->base(change.line, first);
  }
}

void ProgramExplorer::crash_point() {
  sets_ = follower_->frontier().sets();
  explained_.clear();
  legal_ = expected_->legal(operations_);
  if (commands_.dump && legal_.empty()) ++out_.unjudged_outputs;
  const BigInt& states = follower_->frontier().states();
  const bool few = states <= options_.images;
  std::vector<Choice> choices = few ? all_choices(sets_) : sample();
  std::vector<ImageMemo::Id> outcomes;
  run(choices, &outcomes);
  out_.covered += outcomes.size();
  if (!few || outcomes.size() < choices.size()) ++out_.sampled_points;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (const auto violation = judged(outcomes[i])) explain(choices[i], *violation);
  }
}

std::optional<ProgramViolation> ProgramExplorer::judged(ImageMemo::Id outcome) const {
  return judge(memo_[outcome], legal_, *expected_, operations_);
}

// Distinct choices, as many as options_.images at most.
std::vector<Choice> ProgramExplorer::sample() const {
  std::set<Choice> seen;
  std::vector<Choice> out;
  const auto add = [&](const Choice& choice) {
    if (out.size() < options_.images && seen.insert(choice).second) out.push_back(choice);
  };
  const Choice floor(sets_.size());
  Choice visible(sets_.size());
  for (size_t i = 0; i < sets_.size(); ++i) visible[i] = sets_[i]->visible;
  add(floor);
  add(visible);
  for (size_t i = 0; i < sets_.size(); ++i) {
    Choice one = visible;
    one[i] = 0;
    add(one);
    one = floor;
    one[i] = sets_[i]->visible;
    add(one);
  }
  // One crash point's draw does not depend on what was drawn before it.
  std::mt19937_64 random(options_.seed * 0x9e3779b97f4a7c15 + follower_->instant().ordinal);
  // A draw may repeat itself; there are more states than images, so this ends.
  while (out.size() < options_.images) {
    Choice choice(sets_.size());
    for (size_t i = 0; i < sets_.size(); ++i) choice[i] = static_cast<uint32_t>(random() % sets_[i]->contents.size());
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
    for (; end < choices.size() && unknown.size() < kPortion; ++end) {
      names.push_back(names_.of(sets_, choices[end]));
      if (memo_.find(names.back())) continue;
      unknown.push_back(choices[end]);
      unknown_names.push_back(names.back());
    }
    if (!unknown.empty()) {
      if (stopped()) return false;
      auto ran = lanes_->run(sets_, unknown);
      if (!ran) {
        if (listener_.interrupted()) {
          out_.interrupted = true;
        } else {
          out_.troubles.push_back(ran.error().message());
        }
        return false;
      }
      out_.executions += unknown.size();
      for (size_t i = 0; i < unknown.size(); ++i) {
        out_.left_processes = out_.left_processes || (*ran)[i].left_processes;
        memo_.add(unknown_names[i], std::move((*ran)[i]));
      }
      listener_.progressed(out_);
    }
    for (const ImageName& name : names) outcomes->push_back(*memo_.find(name));
    begin = end;
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

// With as few lines lost as one at a time can tell.
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
  const Choice least = minimised(choice, violation);
  const std::vector<bool> decided = decisive(least, violation);
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
  const auto outcome = outcome_of(least);
  if (!outcome) return;
  const auto shown = judged(*outcome);
  const FindingContext context = {.model = follower_->model(),
                                  .frontier = follower_->frontier(),
                                  .history = follower_->history(),
                                  .timeline = follower_->timeline(),
                                  .reader = follower_->reader(),
                                  .instant = follower_->instant(),
                                  .frames = nullptr,
                                  .policy = options_.policy()};
  Json finding = program_finding(shown ? *shown : violation, memo_[*outcome], lines, operations_, commands_, context);
  if (out_.findings.try_emplace(finding["key"].get<std::string>(), finding).second) listener_.found(finding);
}

}  // namespace powercut
