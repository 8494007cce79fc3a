// The explorer's runs: of images that are not known yet, and again of those that are.
#include <algorithm>

#include "checker/program/explorer.h"

namespace powercut {
namespace {

// So many images are run twice, and of those behind them one of so many.
constexpr uint64_t kTwice = 1024, kLaterEvery = 8;
// So many repetitions at least. A recovery that differs in 1 % of its runs stays unnoticed with a chance of 5 % then.
constexpr uint64_t kLeastRepeats = 300;
// How often an image is repeated at most for that, and for how long: so many seconds, or this part of the run's.
constexpr int kMostRounds = 7;
constexpr double kMostRepeatSeconds = 5, kRepeatShare = 0.25;

}  // namespace

bool ProgramExplorer::run(const std::vector<Choice>& choices, std::vector<ImageMemo::Id>* outcomes) {
  for (size_t begin = 0; begin < choices.size();) {
    // The next portion of images that are not known, and the known ones between them.
    std::vector<Choice> unknown;
    std::vector<ImageName> unknown_names;
    std::vector<ImageName> names;
    size_t end = begin;
    for (; end < choices.size() && unknown.size() < portion_; ++end) {
      names.push_back(image_name(choices[end]));
      if (memo_.find(names.back())) continue;
      unknown.push_back(choices[end]);
      unknown_names.push_back(names.back());
    }
    if (!unknown.empty()) {
      if (stopped()) return false;
      auto ran = workers_->run(sets_, unknown);
      if (!ran) return ended_by(ran.error());
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

bool ProgramExplorer::ended_by(const EngineError& error) {
  out_.interrupted = out_.interrupted || listener_.interrupted();
  if (!out_.interrupted) out_.troubles.push_back(error.message());
  return false;
}

ImageName ProgramExplorer::image_name(const Choice& choice) const {
  return inner_ ? names_.of_others(sets_, choice) : names_.of(sets_, choice);
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
    if (!ran) return ended_by(ran.error());
    out_.repeats += choices.size();
    for (size_t i = 0; i < choices.size(); ++i) {
      const ProgramOutcome& once = memo_[*memo_.find(image_name(choices[i]))];
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

}  // namespace powercut
