#include "checker/exploration/walks/crash_points_ahead.h"

namespace powercut {
namespace {

constexpr size_t kMostAhead = 64;

}  // namespace

bool CrashPointsAhead::next() {
  if (workers_->foreseen() - workers_->now() >= kMostAhead) return false;
  while (follower_->next()) {
    const uint64_t ordinal = follower_->instant().ordinal;
    if (follower_->trouble() || !points_.has(ordinal)) continue;
    const BaseLines changes = follow_images(follower_.get(), pool_, &names_);
    const Result<bool> fresh = workers_->foresee(told_++, ordinal, changes);
    if (!fresh) return false;  // the explorer's next call of the workers says why
    if (*fresh) return true;   // else the explorer has come there itself
  }
  return false;
}

}  // namespace powercut
