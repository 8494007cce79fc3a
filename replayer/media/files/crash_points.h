// The crash points of recorded calls: before every call that raises a floor, at every mark, and at the end ("Crash
// points" of PROFILES.md).
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_CRASH_POINTS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_CRASH_POINTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "replayer/media/files/disk.h"
#include "replayer/media/files/effect.h"

namespace powercut::files {

// kDuring: a write through O_DSYNC or O_SYNC is made, and not yet durable.
enum class Side : uint8_t { kBefore, kDuring, kAfter };

class CrashPoints {
 public:
  // `at` is called with each crash point: the disk is as calls have left it there.
  CrashPoints(Disk* disk, std::function<void(Side, uint64_t call)> at) : disk_(*disk), at_(std::move(at)) {}

  // Takes the next call; `number` is told with crash points. Returns false for a call that no program can have made.
  bool take(const Effect& effect, uint64_t number);
  void end();

 private:
  bool sync(const Effect& effect, uint64_t number, Side side);

  Disk& disk_;
  const std::function<void(Side, uint64_t)> at_;
  bool changed_ = true;           // since the last crash point
  std::optional<uint64_t> last_;  // the last call, if no crash point stands behind it
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_CRASH_POINTS_H_
