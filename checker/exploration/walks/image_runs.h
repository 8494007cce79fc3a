// Runs images that are not known yet, and repeats images that are. A recovery must be a function of its image.
// Repetitions in other processes, at other addresses and in other seconds tell whether it is. At the first difference
// no outcome is believed any more.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_IMAGE_RUNS_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_IMAGE_RUNS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "checker/exploration/walks/limits.h"
#include "checker/subjects/program/workers/image_memo.h"

namespace powercut {

// The crash point whose images are run, or a cut inside recovery behind it.
struct PointAtHand {
  explicit PointAtHand(const uint8_t* pool) : names(pool) {}
  ImageName name(const Choice& choice) const { return inner ? names.of_others(sets, choice) : names.of(sets, choice); }
  std::vector<ImageName> names_of(const std::vector<Choice>& choices) const;

  LineSets sets;
  ImageNames names;
  uint64_t ordinal = 0;  // of the crash point
  bool inner = false;    // the sets belong to a cut inside recovery
};

class ImageRuns {
 public:
  // Most images that are handed to the workers at once: between two such portions the budgets are checked.
  static constexpr size_t kMostPortion = 64;

  // All arguments outlive this object.
  ImageRuns(const ProgramOptions& options, const ProgramListener& listener, ImageWorkers* workers,
            const PointAtHand* point, Limits* limits, ProgramExplored* out)
      : options_(options), listener_(listener), workers_(workers), point_(*point), limits_(limits), out_(*out) {}

  // The outcomes of all images that were run.
  const ImageMemo& memo() const { return memo_; }
  const ProgramOutcome& operator[](ImageMemo::Id outcome) const { return memo_[outcome]; }

  // Runs the images whose outcome is not known. False when the exploration has to end.
  bool run(const std::vector<Choice>& choices, std::vector<ImageMemo::Id>* outcomes);
  // Returns the image's outcome, running the image if necessary; nothing when the exploration has to end.
  std::optional<ImageMemo::Id> outcome_of(const Choice& choice);
  // Takes runs that have reported their reads for the outcomes of their images. False when an image that was repeated
  // without a report came to another outcome; nothing when the exploration has to end.
  std::optional<bool> take_reported(const std::vector<Choice>& choices, const std::vector<ImageWorker::Traced>& traced,
                                    std::vector<ImageMemo::Id>* outcomes);
  // Runs images that were run before, `rounds` times. False when the exploration has to end.
  bool repeat(const std::vector<Choice>& choices, int rounds);
  // Runs images whose outcome is known without a run of their own.
  void check(const std::vector<Choice>& choices, const std::vector<ImageMemo::Id>& outcomes);
  // Repeats the kept images until a short run has enough repetitions. `again` is as for repeat_in_other_seconds(), and
  // may end its walk as soon as `wanted` says no.
  void repeat_at_the_end(const std::function<bool(const std::function<bool()>& wanted)>& again);
  // Repeats some of the images of the whole run in other seconds of the clock, where runs ask for it. `again` walks
  // over the trace and calls repeat() with kept() at each of its crash points; false when the exploration has to end.
  void repeat_in_other_seconds(const std::function<bool()>& again);
  // Images that were kept for repetitions at the end, by the ordinal of their crash point. No kept image blocks.
  const std::map<uint64_t, std::vector<Choice>>& kept() const { return kept_; }

 private:
  // Returns the images of `ran` that are to be run again.
  std::vector<Choice> wanted_again(const std::vector<Choice>& ran, const std::vector<ProgramOutcome>& outcomes);
  // repeat_some() repeats the images. repeat_more() repeats them more often, as long as there are few repetitions.
  bool repeat_some(const std::vector<Choice>& again);
  bool repeat_more(const std::vector<Choice>& again);
  // Whether an image should be repeated more than once.
  bool wants_repeats(bool at_the_end) const;
  void count_end(const ProgramOutcome& outcome);
  // Keeps some of the crash point's images that were run.
  void keep_for_later(const std::vector<Choice>& ran);
  void not_repeatable(const Choice& choice, const ProgramOutcome& once, const ProgramOutcome& again);

  const ProgramOptions& options_;
  const ProgramListener& listener_;
  ImageWorkers* workers_;
  const PointAtHand& point_;
  Limits* limits_;
  ProgramExplored& out_;
  ImageMemo memo_;
  uint64_t images_ = 0;                           // that were run
  std::map<uint64_t, std::vector<Choice>> kept_;  // images kept for later, by ordinal
  size_t kept_images_ = 0;
  bool elsewhere_ = false;     // where the last repetition was
  double repeat_seconds_ = 0;  // seconds of repetitions beyond one an image
  size_t portion_ = 1;         // images that are run at once
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_IMAGE_RUNS_H_
