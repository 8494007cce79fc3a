// The crash points that have not come yet, as far as runs ahead of them need (image_workers.h): a second walk over the
// trace, some crash points before the explorer's.
#ifndef POWERCUT_CHECKER_PROGRAM_CRASH_POINTS_AHEAD_H_
#define POWERCUT_CHECKER_PROGRAM_CRASH_POINTS_AHEAD_H_

#include <functional>
#include <memory>
#include <vector>

#include "checker/program/image_memo.h"

namespace powercut {

class CrashPointsAhead {
 public:
  // `follower`: at the start of the trace, over `pool`, which nobody else has.
  CrashPointsAhead(std::unique_ptr<TraceFollower> follower, const uint8_t* pool, ImageWorkers* workers)
      : follower_(std::move(follower)), pool_(pool), names_(pool), workers_(workers) {}

  // Goes on to the first crash point that the workers have not been told of, and tells them. False at the end, and
  // where it is far ahead. `wanted`, by a crash point's number: whether the explorer will look at it.
  bool next(const std::function<bool(uint64_t)>& wanted);

  const uint8_t* pool() const { return pool_; }
  LineSets sets() const { return follower_->frontier().sets(); }
  ImageName name(const LineSets& sets, const Choice& choice) const { return names_.of(sets, choice); }

 private:
  std::unique_ptr<TraceFollower> follower_;
  const uint8_t* pool_;
  ImageNames names_;
  ImageWorkers* workers_;
  size_t points_ = 0;  // that it has come to
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_CRASH_POINTS_AHEAD_H_
