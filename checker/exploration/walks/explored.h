// The result of walks over a program's trace, and the listener that hears of findings on the way.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORED_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORED_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "checker/exploration/ended.h"
#include "replayer/strategies/strategy.h"
#include "tracer/format/trace.h"

namespace powercut {

// The whole result of exploring.
struct ProgramExplored : Ended {
  uint64_t crash_points = 0;
  BigInt states = 0, covered = 0;
  std::optional<bool> nested_complete;  // of cuts inside recovery; nothing when there are none
  bool truncated = false;               // some line has more candidates than are kept
  uint64_t sampled_points = 0;          // crash points with more states than were looked at
  // Marked operations, and those with a crash point that was not covered; nothing where operations are not numbered.
  std::optional<std::pair<uint64_t, uint64_t>> operations;
  uint64_t executions = 0, traced = 0;  // runs on an image that had not been run; runs under the tracer
  uint64_t behaviours = 0;              // that traced runs told of
  std::string untraced_because;         // why the tracer was given up; empty: it was not
  uint64_t outcomes = 0;                // distinct outcomes
  uint64_t repeats = 0;                 // runs of images that had been run; all came to the same, unless unrepeatable
  bool asks_clock = false;              // a run has asked for the time, or may have
  int clock_seconds = 0;                // other seconds of the clock in which some repeats ran
  uint64_t reordered = 0;               // images with the right lines in another order
  uint64_t timeouts = 0;                // runs that did not end
  // Crash points where only exit status counted although commands print: before the first operation, when nothing is
  // promised; and where the legal outputs are not known.
  uint64_t before_operations = 0, unjudged_outputs = 0;
  bool overlapped = false;  // operations of several threads overlapped at some of these crash points
  std::map<std::string, Json> findings;
  std::string searched;  // of a tree of schedules: its coverage (tracer/format/FORMAT.md)
  bool left_processes = false;
  bool counted = true;        // the first walk came to the end of the trace: the states are all that there are
  bool hung = false;          // so much time went into runs that do not end that the rest was given up
  bool useless = false;       // ProgramListener::useless()
  bool unrepeatable = false;  // recovery depends on more than its pools: no finding is to be trusted
  bool came_apart = false;    // powercut's own walks differed: no finding is to be trusted
};

struct ProgramListener {
  std::vector<TraceModule> modules;  // that frames count into
  std::function<void(const std::vector<TraceModule>&)> modules_grown;
  std::function<void(const Json&)> found;
  std::function<void(const ProgramExplored&)> progressed;  // after a part of the work; often
  std::function<bool()> interrupted;
  std::function<bool()> useless = [] { return false; };  // true: no finding from here on can tell anything
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_EXPLORED_H_
