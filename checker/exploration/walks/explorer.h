// Program mode's exploration: every legal crash image of a trace is given to the recovery command.
//
// A crash point with few states is enumerated; images that were seen at an earlier crash point are known. With a tracer
// a large crash point is covered by behaviours (behaviours.h): one image is run under the tracer, and answers for all
// images that recovery cannot tell from it. A traced run costs as much as many native runs. Boxes with fewer images
// than this price are therefore enumerated. A crash point where traced runs answer for few images is given up.
//
// The trace is walked several times. Each walk tries more images of every crash point that is not covered yet: a budget
// that ends early has then seen some images of every crash point. Crash points that are nearly covered come first.
// Crash points are covered one by one. If a crash point has fewer images to run than there are workers, the other
// workers run images of later crash points (image_workers.h).
//
// A recovery must be a function of its image, and only repeating it tells. Images are therefore run twice, the second
// time by processes at other addresses: all of the first thousand, and some of the others. Short runs repeat their
// images several times. There are then enough repetitions to show a recovery that fails at random in a hundredth of its
// runs. The repetitions are given files with other times and inodes. Where runs ask for the time, some images are run
// once more in other seconds, at the end. The image of a finding is run some times more before the finding is told. At
// the first difference no outcome is believed any more.
//
// Where there are too many images, a sample is tried, and the coverage says `sampled`. The sample has the floor, the
// visible image, every single line lost or persisted, and a seeded random draw.
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
  // Makes a follower at the start of the trace, over this pool, which holds zeros then.
  using Begin = std::function<Result<std::unique_ptr<TraceFollower>>(uint8_t* pool)>;
  struct Pools {
    uint8_t* at_hand;
    uint8_t* ahead;  // null: no runs are made ahead
  };
  // All arguments outlive the explorer.
  ProgramExplorer(const ProgramOptions& options, const ProgramCommands& commands, Begin begin, const Pools& pools,
                  ImageWorkers* workers, const ExpectedOutputs* expected, const ProgramListener& listener);

  ProgramExplored explore();

 private:
  // An image and its outcome. The image may stand for a whole box of images with this outcome.
  struct Judged {
    Choice choice;
    ImageMemo::Id outcome;
  };
  // The most runs that one walk over the trace spends on each crash point.
  struct Effort {
    uint64_t traced;  // runs that tell their reads
    uint64_t images;  // other runs
  };
  struct Explained {
    std::string kind;
    std::vector<std::pair<size_t, uint32_t>> lost;  // index in the sets, and content
  };
  // A crash point that is not covered.
  struct Open {
    BigInt states = 0, covered = 0;
    uint64_t traced = 0;  // runs for this crash point that told of a behaviour
    uint64_t reordered = 0;
    std::optional<uint64_t> operation;
    std::vector<Explained> explained;
  };
  // The cut inside recovery at hand: the run's cuts, and the point among them.
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
  // Gives idle workers images of crash points to come, while `traced` images are traced.
  void look_ahead(size_t traced);
  // Counts a crash point, which is open (not covered) from then on.
  void count_point();
  // Notes a difference between two walks: a defect of powercut, after which no outcome is believed. Returns false.
  bool apart(const std::string& what);
  void crash_point();
  // Covers the crash point, as far as the effort goes. False when the exploration has to end.
  bool cover(std::vector<Judged>* judged);
  // Covers boxes by traced runs as long as tracing pays; `rest` keeps the boxes that are left.
  bool cover_by_traces(std::vector<Box>* rest, std::vector<Judged>* judged);
  // Returns the largest size of a box whose images are run one by one.
  uint64_t native_box() const;
  // Covers by runs of each image, the smallest boxes first, and samples boxes that are too large.
  bool cover_by_images(std::vector<Box> rest, std::vector<Judged>* judged);
  // Looks at the images. False when the exploration has to end.
  bool look_at(const std::vector<Choice>& choices, std::vector<Judged>* judged);
  // Traces an image of each box and remembers the behaviours. False when the runs told of no behaviour.
  bool trace(const std::vector<Box>& boxes);
  // Ends all tracing, for this reason. Returns false.
  bool give_up(const std::string& why);
  // Keeps the places where the power may be cut in the run. False when the places cannot be known: no run is traced any
  // more.
  bool keep_cuts(const ImageWorker::Traced& traced, const Choice& choice, uint32_t run);
  void answer(const Behaviours::Answered& answered, std::vector<Judged>* judged);
  // Runs some of the images that were answered for.
  void check_answers();
  // Cuts the runs of recovery that answered for the crash point's images, wherever the runs store.
  void cut_recoveries();
  void cut_recovery(const Behaviours::Answered& answered);
  void cut_recovery(const Box& box, const RecoveryCuts& cuts);
  // Judges the images of a cut inside recovery. The crash point's lines that recovery does not store to are as in
  // `box`.
  void inner_point(const Box& box, const Inner& inner);
  std::vector<Choice> sample(const Box& box, uint64_t most) const;
  // Walks over the trace once and runs the kept images, as long as repetitions are wanted. Returns false when the
  // exploration has to end.
  bool repeat_kept(const std::function<bool()>& wanted);
  // Turns a violating image of the crash point into a finding, unless the finding is known already.
  void explain(const Choice& choice, const ProgramViolation& violation);
  // Turns a violating image that a cut inside recovery has left into a finding.
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
  // Cuts by the run of recovery, for each of its images whose cuts are known.
  std::vector<std::vector<std::shared_ptr<const RecoveryCuts>>> cuts_;
  std::map<std::string, size_t> explained_inner_;  // findings of a kind
  uint64_t checked_ = 0;                           // images that were run although a behaviour answered for them
  std::map<uint64_t, Open> open_;                  // by the crash point's number
  // Members for the walk at hand.
  bool first_ = true, promising_ = false;
  WalkPoints points_;
  Effort effort_{};
  bool last_ = false;
  // Members for the crash point at hand.
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
