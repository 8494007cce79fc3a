// Where the power may be cut inside one run of recovery, and the contents that each cut leaves on top of the run's
// image.
//
// A traced run's stream has its stores, flushes and fences, but not the contents of the image. The stream is converted
// like a recording, and walked like one (replayer/crash_points/crash_points.h). Each of its crash points has the
// candidates of every line that recovery has stored to. Another image has the same cuts under two conditions: the run
// reads the same bytes there, and the lines stored to have the same contents before the run.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_RECOVERY_CUTS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_RECOVERY_CUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/images/trace_pools.h"
#include "replayer/models/model.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

// The model under which recovery's own stores persist: the recorded program's model.
struct RecoveryModel {
  std::string name;
  AtomPolicy policy{};
};

// The call stacks of recoveries, each distinct one once, in modules that are numbered for all of them.
class RecoveryStacks {
 public:
  // `modules`: numbered already, by others.
  explicit RecoveryStacks(std::vector<TraceModule> modules) : modules_(std::move(modules)) {}
  // Returns the number of a stack whose frames count into the run's own `modules`.
  uint32_t add(std::span<const Frame> frames, const std::vector<TraceModule>& modules);
  const std::vector<Frame>& operator[](uint32_t number) const { return stacks_[number]; }
  const std::vector<TraceModule>& modules() const { return modules_; }

 private:
  std::vector<TraceModule> modules_;
  std::vector<std::vector<Frame>> stacks_;
  std::map<std::vector<std::pair<uint32_t, uint64_t>>, uint32_t> numbers_;
};

struct RecoveryCuts {
  struct Store {
    uint64_t offset = 0, size = 0;  // of the trace's offset space
    uint32_t stack = 0;             // its number
  };
  struct Point {
    size_t stores = 0;          // of recovery's, that came before
    bool after_end = false;     // recovery had ended
    std::vector<LineSet> sets;  // of each line that recovery has stored to so far, ascending
  };
  std::map<uint64_t, Content> base;  // the lines that recovery stores to, as they were before
  std::vector<Store> stores;
  std::vector<Point> points;
  bool truncated = false;  // some line has more candidates than are kept, or recovery has made a file longer

  // Returns the content of a line before the run.
  using Before = std::function<Content(uint64_t line)>;
  // Returns the cuts of a run from its `stream`. `images`: the file of each window that the run worked on. `scratch`: a
  // file that is made and removed.
  static Result<RecoveryCuts> of(const std::string& stream, const TracePools& pools,
                                 const std::vector<std::string>& images, const Before& before,
                                 const RecoveryModel& model, const std::string& scratch, RecoveryStacks* stacks);
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_RECOVERY_CUTS_H_
