// The crash points that the explorer's walk has not reached yet, as far as runs ahead need them (image_workers.h). This
// is a second walk over the trace, some crash points ahead of the explorer's.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_CRASH_POINTS_AHEAD_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_CRASH_POINTS_AHEAD_H_

#include <memory>

#include "checker/exploration/walks/walk_points.h"
#include "checker/subjects/program/workers/image_memo.h"

namespace powercut {

class CrashPointsAhead {
 public:
  // `follower`: at the start of the trace, over `pool`, which nobody else has. `points`: the points of the explorer's
  // walk.
  CrashPointsAhead(std::unique_ptr<TraceFollower> follower, const uint8_t* pool, WalkPoints points,
                   ImageWorkers* workers)
      : follower_(std::move(follower)), pool_(pool), names_(pool), points_(std::move(points)), workers_(workers) {}

  // Goes on to the first crash point that the workers have not been told of, and tells them. False at the end of the
  // trace, where this walk is far ahead, and where the workers know other crash points.
  bool next();

  const uint8_t* pool() const { return pool_; }
  LineSets sets() const { return follower_->frontier().sets(); }
  ImageName name(const LineSets& sets, const Choice& choice) const { return names_.of(sets, choice); }

 private:
  std::unique_ptr<TraceFollower> follower_;
  const uint8_t* pool_;
  ImageNames names_;
  const WalkPoints points_;
  ImageWorkers* workers_;
  size_t told_ = 0;  // crash points that the workers were told of, or whose data were compared with theirs
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_CRASH_POINTS_AHEAD_H_
