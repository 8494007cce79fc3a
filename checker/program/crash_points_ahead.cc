#include "checker/program/crash_points_ahead.h"

namespace powercut {
namespace {

constexpr size_t kMostAhead = 64;

}  // namespace

bool CrashPointsAhead::next(const std::function<bool(uint64_t)>& wanted) {
  if (workers_->foreseen() - workers_->now() >= kMostAhead) return false;
  while (follower_->next()) {
    if (follower_->trouble() || !wanted(follower_->instant().ordinal)) continue;
    const BaseLines changes = follow_images(follower_.get(), pool_, &names_);
    if (++points_ <= workers_->foreseen()) continue;  // the explorer has come there itself
    workers_->foresee(changes);
    return true;
  }
  return false;
}

}  // namespace powercut
