#include "replayer/media/files/crash_points.h"

namespace powercut::files {

bool CrashPoints::take(const Effect& effect, uint64_t number) {
  last_ = number;
  disk_.set_call(number);
  if (effect.kind == EffectKind::kBegin && changed_) {
    at_(Side::kBefore, number);
    changed_ = false;
  }
  if (effect.is_sync()) return sync(effect, number, Side::kBefore);
  if (!disk_.apply(effect)) return false;
  const bool mark = effect.kind == EffectKind::kBegin || effect.kind == EffectKind::kEnd;
  if (!mark && effect.kind != EffectKind::kAttributes) changed_ = true;
  if (effect.kind == EffectKind::kWrite && effect.through != Through::kNone && !effect.data.empty()) {
    return sync(sync_of_write(effect), number, Side::kDuring);
  }
  if (effect.kind == EffectKind::kEnd) end();
  return true;
}

bool CrashPoints::sync(const Effect& effect, uint64_t number, Side side) {
  if (!disk_.apply(effect)) return false;
  const Raise raise = disk_.raise_of(effect);
  if (!raise.empty()) {
    at_(side, number);
    // Where syncs overtake, a sync may add trees.
    changed_ = disk_.switches().order == Order::kSynced;
  }
  disk_.apply(raise);
  return true;
}

void CrashPoints::end() {
  if (!last_) return;
  at_(Side::kAfter, *last_);
  last_.reset();
  changed_ = false;
}

}  // namespace powercut::files
