#include "checker/exploration/walks/image_runs.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "checker/subjects/program/outputs/judge.h"

namespace powercut {
namespace {

// The first `kTwice` images are run twice; after that, one image in `kLaterEvery` is.
constexpr uint64_t kTwice = 1024, kLaterEvery = 8;
// Least number of repetitions. A recovery that differs in 1 % of its runs then stays unnoticed with a chance of 5 %.
constexpr uint64_t kLeastRepeats = 300;
// Limits of these repetitions: rounds for one image; seconds at the end of the run; and a share of the run's time, so
// that findings do not wait for repetitions.
constexpr int kMostRounds = 7;
constexpr double kMostRepeatSeconds = 5, kRepeatShare = 0.25;
// Images that are run in other seconds of the clock, and the number of seconds: a recovery that asks for the time
// modulo seven shows. Where nobody knows whether the recovery asks, the number is one.
constexpr size_t kMostKept = 128;
constexpr int kOtherSeconds = 6;
// No other second is begun after this many seconds of them, or kRepeatShare of the run's time if that is more.
constexpr double kMostClockSeconds = 10;

}  // namespace

std::vector<ImageName> PointAtHand::names_of(const std::vector<Choice>& choices) const {
  std::vector<ImageName> out;
  for (const Choice& choice : choices) out.push_back(name(choice));
  return out;
}

bool ImageRuns::run(const std::vector<Choice>& choices, std::vector<ImageMemo::Id>* outcomes) {
  for (size_t begin = 0; begin < choices.size();) {
    // The next portion of images that are not known, and the known ones between them.
    std::vector<Choice> unknown;
    std::vector<ImageName> unknown_names;
    std::vector<ImageName> names;
    size_t end = begin;
    for (; end < choices.size() && unknown.size() < portion_; ++end) {
      names.push_back(point_.name(choices[end]));
      if (memo_.find(names.back())) continue;
      unknown.push_back(choices[end]);
      unknown_names.push_back(names.back());
    }
    if (!unknown.empty()) {
      if (limits_->stopped()) return false;
      auto ran = workers_->run(point_.sets, unknown, unknown_names);
      if (!ran) return limits_->ended_by(ran.error());
      out_.executions += unknown.size();
      const uint64_t timeouts = out_.timeouts;
      for (const ProgramOutcome& outcome : *ran) count_end(outcome);
      // Images that block are run one by one, so that the exploration can be given up in between.
      portion_ = out_.timeouts > timeouts ? 1 : std::min(2 * portion_, kMostPortion);
      for (size_t i = 0; i < unknown_names.size(); ++i) memo_.add(unknown_names[i], (*ran)[i]);
      keep_for_later(unknown);
      if (!repeat_some(wanted_again(unknown, *ran))) return false;
      listener_.progressed(out_);
    }
    for (const ImageName& name : names) outcomes->push_back(*memo_.find(name));
    begin = end;
  }
  return true;
}

bool ImageRuns::wants_repeats(bool at_the_end) const {
  const double share = kRepeatShare * limits_->seconds();
  return out_.repeats < kLeastRepeats && repeat_seconds_ < (at_the_end ? std::max(kMostRepeatSeconds, share) : share);
}

void ImageRuns::count_end(const ProgramOutcome& outcome) {
  if (outcome.kind == ProgramOutcome::Kind::kTimeout) ++out_.timeouts;
  out_.left_processes = out_.left_processes || outcome.left_processes;
}

std::vector<Choice> ImageRuns::wanted_again(const std::vector<Choice>& ran,
                                            const std::vector<ProgramOutcome>& outcomes) {
  std::vector<Choice> again;
  for (size_t i = 0; i < ran.size(); ++i) {
    ++images_;
    if (images_ > kTwice && images_ % kLaterEvery != 0) continue;
    if (outcomes[i].kind != ProgramOutcome::Kind::kTimeout) again.push_back(ran[i]);
  }
  return again;
}

std::optional<bool> ImageRuns::take_reported(const std::vector<Choice>& choices,
                                             const std::vector<ImageWorker::Traced>& traced,
                                             std::vector<ImageMemo::Id>* outcomes) {
  std::vector<Choice> unknown;
  std::vector<ProgramOutcome> ends;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (const auto known = memo_.find(point_.name(choices[i]))) {
      if (!traced[i].outcome.alike(memo_[*known], options_.ordered)) return false;
      continue;
    }
    unknown.push_back(choices[i]);
    ends.push_back(traced[i].outcome);
  }
  const std::vector<Choice> again = wanted_again(unknown, ends);
  if (limits_->stopped()) return std::nullopt;
  elsewhere_ = !elsewhere_;
  auto ran = workers_->run(point_.sets, again, point_.names_of(again), elsewhere_);
  if (!ran) {
    limits_->ended_by(ran.error());
    return std::nullopt;
  }
  out_.repeats += again.size();
  size_t next = 0;
  for (size_t i = 0; i < unknown.size(); ++i) {
    if (next == again.size() || again[next] != unknown[i]) continue;
    if (!(*ran)[next].alike(ends[i], options_.ordered)) return false;
    ends[i] = std::move((*ran)[next++]);
  }
  out_.executions += unknown.size();
  for (size_t i = 0; i < unknown.size(); ++i) {
    count_end(ends[i]);
    memo_.add(point_.name(unknown[i]), ends[i]);
  }
  keep_for_later(unknown);
  if (!repeat_more(again)) return std::nullopt;
  listener_.progressed(out_);
  for (const Choice& choice : choices) outcomes->push_back(*memo_.find(point_.name(choice)));
  return true;
}

bool ImageRuns::repeat_some(const std::vector<Choice>& again) {
  // The one repetition that every image gets runs at other addresses.
  elsewhere_ = false;
  return again.empty() || (repeat(again, 1) && repeat_more(again));
}

bool ImageRuns::repeat_more(const std::vector<Choice>& again) {
  const double start = limits_->seconds();
  for (int round = 1; round < kMostRounds && !again.empty() && wants_repeats(false); ++round) {
    if (!repeat(again, 1)) return false;
  }
  repeat_seconds_ += limits_->seconds() - start;
  return true;
}

bool ImageRuns::repeat(const std::vector<Choice>& choices, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    if (limits_->stopped()) return false;
    elsewhere_ = !elsewhere_;
    const auto ran = workers_->run(point_.sets, choices, point_.names_of(choices), elsewhere_);
    if (!ran) return limits_->ended_by(ran.error());
    out_.repeats += choices.size();
    for (size_t i = 0; i < choices.size(); ++i) {
      const ProgramOutcome& once = memo_[*memo_.find(point_.name(choices[i]))];
      if ((*ran)[i].kind == ProgramOutcome::Kind::kTimeout) ++out_.timeouts;
      if ((*ran)[i].alike(once, options_.ordered)) continue;
      not_repeatable(choices[i], once, (*ran)[i]);
      return false;
    }
  }
  return true;
}

void ImageRuns::keep_for_later(const std::vector<Choice>& ran) {
  if (point_.inner) return;
  for (const Choice& choice : ran) {
    if (memo_[*memo_.find(point_.name(choice))].kind == ProgramOutcome::Kind::kTimeout) continue;
    if (kept_images_ == kMostKept) {
      // Drops every other crash point, so that the kept crash points cover the whole run.
      bool drop = false;
      std::erase_if(kept_, [&](const auto& entry) {
        drop = !drop;
        if (!drop) kept_images_ -= entry.second.size();
        return !drop;
      });
      if (kept_images_ == kMostKept) return;
    }
    kept_[point_.ordinal].push_back(choice);
    ++kept_images_;
  }
}

void ImageRuns::repeat_in_other_seconds(const std::function<bool()>& again) {
  const ImageWorker::Clock clock = workers_->clock();
  out_.asks_clock = clock != ImageWorker::Clock::kNotAsked;
  if (!out_.asks_clock || kept_.empty() || limits_->stopped()) return;
  const double start = limits_->seconds();
  const auto late = [&] {
    return limits_->seconds() - start > std::max(kMostClockSeconds, kRepeatShare * limits_->seconds());
  };
  if (clock == ImageWorker::Clock::kUnknown) {
    // Nobody can tell these runs another time.
    const auto second = [] { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); };
    for (const auto first = second(); second() == first;) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (again()) ++out_.clock_seconds;
    return;
  }
  for (int shift = 1; shift <= kOtherSeconds && !limits_->stopped() && !late(); ++shift) {
    workers_->shift_clock(shift);
    const bool all = again();
    workers_->shift_clock(0);
    if (!all) return;
    ++out_.clock_seconds;
  }
}

void ImageRuns::check(const std::vector<Choice>& choices, const std::vector<ImageMemo::Id>& outcomes) {
  const auto ran = workers_->run(point_.sets, choices, point_.names_of(choices));
  if (!ran) return;  // interrupted, or the next run will have it too
  out_.repeats += choices.size();
  for (size_t i = 0; i < choices.size() && !out_.unrepeatable; ++i) {
    const ProgramOutcome& once = memo_[outcomes[i]];
    if (!(*ran)[i].alike(once, options_.ordered)) not_repeatable(choices[i], once, (*ran)[i]);
  }
}

void ImageRuns::repeat_at_the_end(const std::function<bool(const std::function<bool()>& wanted)>& again) {
  const double before = repeat_seconds_, start = limits_->seconds();
  const auto wanted = [&] {
    repeat_seconds_ = before + limits_->seconds() - start;
    return wants_repeats(true);
  };
  while (!kept_.empty() && wanted() && again(wanted)) {
  }
}

std::optional<ImageMemo::Id> ImageRuns::outcome_of(const Choice& choice) {
  std::vector<ImageMemo::Id> outcomes;
  if (!run({choice}, &outcomes)) return std::nullopt;
  return outcomes[0];
}

void ImageRuns::not_repeatable(const Choice& choice, const ProgramOutcome& once, const ProgramOutcome& again) {
  out_.unrepeatable = true;
  std::string kept;
  if (!options_.keep_image.empty()) {
    const auto files = workers_->copy(point_.sets, choice, point_.name(choice), options_.keep_image);
    kept = files ? ". The image of crash point " + std::to_string(point_.ordinal) + " is kept in " + files->front()
                 : ". The image could not be kept: " + files.error().what;
  }
  out_.troubles.push_back(
      "recovery came to different ends on images that it cannot tell apart (" +
      outcome_difference(once, again, options_.ordered) +
      "): it depends on something other than the bytes of its pools; usual causes are the clock, the "
      "times or inode numbers of its files, random numbers and other files" +
      kept);
}

}  // namespace powercut
