// Program mode's exploration: every legal crash image of a trace is given to the recovery command.
//
// A crash point whose states are few is enumerated; images that were seen at an earlier crash point are known. With a
// tracer a large one is covered by behaviours (behaviours.h): one image is run under the tracer, and answers for all
// that recovery cannot tell from it. A traced run costs as much as many native ones, so boxes that are smaller than
// that are enumerated, and a crash point where traced runs answer for little is given up.
//
// The trace is walked several times. Each walk tries more of every crash point that is not covered yet: a budget that
// ends early has seen something of all of them, and not all of the first ones; those that are nearly covered come
// first. Crash points are covered one by one; where one has fewer images to run than there are workers, the others run
// images of those that come next (image_workers.h).
//
// A recovery must be a function of its image, and only repeating it tells. So the images are run twice, the second time
// by processes at other addresses: all of the first thousand, some of the others, and in short runs several times,
// until there are so many repetitions that a recovery which fails at random in a hundredth of its runs would have
// shown. The repetitions are given files with other times and inodes. Where runs ask for the time, some images are run
// once more in other seconds, at the end. The image of a finding is run some times more before it is told of. At the
// first difference nothing is believed any more.
//
// Where there are too many images, the floor, the visible image, every single line lost or persisted and a seeded
// random draw are tried, and the coverage says `sampled`.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORER_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/exploration/walks/choices.h"
#include "checker/exploration/walks/crash_points_ahead.h"
#include "checker/exploration/walks/image_runs.h"
#include "checker/exploration/walks/least_choice.h"
#include "checker/findings/finding.h"
#include "checker/subjects/program/outputs/judge.h"
#include "checker/subjects/program/reads/behaviours.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class ProgramExplorer {
 public:
  // A follower at the start of the trace, over this pool, which is zeros then.
  using Begin = std::function<Result<std::unique_ptr<TraceFollower>>(uint8_t* pool)>;
  struct Pools {
    uint8_t* at_hand;
    uint8_t* ahead;  // null: no runs are made ahead
  };
  // All of them outlive it.
  ProgramExplorer(const ProgramOptions& options, const ProgramCommands& commands, Begin begin, const Pools& pools,
                  ImageWorkers* workers, const ExpectedOutputs* expected, const ProgramListener& listener);

  ProgramExplored explore();

 private:
  // An image, and what it, or the whole box of images that it stands for, came to.
  struct Judged {
    Choice choice;
    ImageMemo::Id outcome;
  };
  // What one walk over the trace tries of each crash point at most.
  struct Effort {
    uint64_t traced;  // runs that tell what they read
    uint64_t images;  // other runs
  };
  struct Explained {
    std::string kind;
    std::vector<std::pair<size_t, uint32_t>> lost;  // index in the sets, and content
  };
  // A crash point that is not covered.
  struct Open {
    BigInt states = 0, covered = 0;
    uint64_t traced = 0;  // runs for it that told of a behaviour
    uint64_t reordered = 0;
    std::optional<uint64_t> operation;
    std::vector<Explained> explained;
  };
  // A cut inside recovery that is looked at: on which run, and where.
  struct Inner {
    const RecoveryCuts* cuts;
    const RecoveryCuts::Point* point;
  };
  // False when there is nothing more to do.
  bool walk();
  // The crash points that the walk at hand looks at.
  WalkPoints points_of_walk() const;
  // Goes on to the crash point that the follower stands at. False when the walks have come apart.
  bool begin_point();
  // Gives workers that would wait images of crash points to come, while `traced` images are traced.
  void look_ahead(size_t traced);
  // Counts a crash point, which is open from then on.
  void count_point();
  // A difference between two walks is a defect of powercut, and nothing is believed any more; false.
  bool apart(const std::string& what);
  void crash_point();
  // Covers the crash point, as far as the effort goes. False when the exploration has to end.
  bool cover(std::vector<Judged>* judged);
  // Covers by traced runs what they pay for; `rest` keeps what is left.
  bool cover_by_traces(std::vector<Box>* rest, std::vector<Judged>* judged);
  // Boxes up to this are run one by one.
  uint64_t native_box() const;
  // Covers by runs of each image, the smallest boxes first, and samples what is too large.
  bool cover_by_images(std::vector<Box> rest, std::vector<Judged>* judged);
  // Looks at the images. False when the exploration has to end.
  bool look_at(const std::vector<Choice>& choices, std::vector<Judged>* judged);
  // Traces an image of each box and remembers the behaviours. False when nothing came of it.
  bool trace(const std::vector<Box>& boxes);
  // No run is traced any more; false.
  bool give_up(const std::string& why);
  // Where the power may be cut in the run. False when that cannot be known: nothing is traced any more.
  bool keep_cuts(const ImageWorker::Traced& traced, const Choice& choice, uint32_t run);
  void answer(const Behaviours::Answered& answered, std::vector<Judged>* judged);
  // Runs some of the images that were answered for.
  void check_answers();
  // Cuts the runs of recovery that answered for the crash point's images, wherever they store.
  void cut_recoveries();
  void cut_recovery(const Behaviours::Answered& answered);
  void cut_recovery(const Box& box, const RecoveryCuts& cuts);
  // Judges the images of a cut inside recovery; the crash point's lines that it does not store to are as in `box`.
  void inner_point(const Box& box, const Inner& inner);
  std::vector<Choice> sample(const Box& box, uint64_t most) const;
  // One walk over the trace that runs the kept images. False when the exploration has to end.
  bool repeat_kept();
  // A violating image of the crash point becomes a finding, unless it is one already.
  void explain(const Choice& choice, const ProgramViolation& violation);
  // The same of an image that a cut inside recovery has left.
  void explain_inner(const Choice& choice, const ProgramViolation& violation);
  void found(const Finding& finding);
  FindingContext context() const;
  bool shows(const Choice& choice, const ProgramViolation& violation);
  LeastChoice least_choice(const ProgramViolation& violation);
  std::optional<ProgramViolation> judged(ImageMemo::Id outcome) const;

  const ProgramOptions& options_;
  const ProgramCommands& commands_;
  const Begin begin_;
  std::unique_ptr<TraceFollower> follower_;
  uint8_t *const pool_, *const pool_ahead_;
  std::optional<CrashPointsAhead> ahead_;
  ImageWorkers* workers_;
  const ExpectedOutputs* expected_;
  const ProgramListener& listener_;

  ProgramExplored out_;
  Limits limits_;
  PointAtHand point_;
  ImageRuns runs_;
  Operations operations_;
  Behaviours behaviours_;
  bool tracing_;
  bool stored_outside_ = false;        // since the last marked operation ended
  uint32_t last_store_ = 0;            // of the trace, before the crash point at hand: its stack
  std::pair<bool, uint32_t> at_fork_;  // the two, where a tree of schedules begins
  RecoveryStacks recovery_stacks_;
  size_t told_modules_;
  // By the run of recovery, for each of its images whose cuts are known.
  std::vector<std::vector<std::shared_ptr<const RecoveryCuts>>> cuts_;
  std::map<std::string, size_t> explained_inner_;  // findings of a kind
  uint64_t checked_ = 0;           // images that a behaviour answered for and that were run all the same
  std::map<uint64_t, Open> open_;  // by the crash point's number
  // Of the walk at hand.
  bool first_ = true, promising_ = false;
  WalkPoints points_;
  Effort effort_{};
  bool last_ = false;
  // Of the crash point at hand.
  BigInt covered_ = 0;
  std::vector<const ProgramOutcome*> legal_;
  std::vector<Explained> explained_;
  std::vector<Behaviours::Answered> answered_;
  std::vector<Judged> to_check_;
  bool cut_all_ = true;         // every run of recovery on its images that stores was cut, wherever that matters
  std::optional<Inner> inner_;  // the cut inside recovery that is looked at
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORER_H_
