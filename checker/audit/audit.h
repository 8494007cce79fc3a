// The standing check that the engine tells the truth. It draws legal crash images uniformly over all crash states of
// all crash points, and runs them in fresh processes on the plain library. Everything observable is compared with the
// engine's predictions. See audit_draw.h (why the draw is uniform), image_runner.h (runs an image) and
// audit_predictor.h (predicts).
#ifndef POWERCUT_CHECKER_AUDIT_AUDIT_H_
#define POWERCUT_CHECKER_AUDIT_AUDIT_H_

#include <functional>
#include <string>
#include <vector>

#include "checker/audit/audit_predictor.h"
#include "checker/audit/image_runner.h"

namespace powercut {

struct AuditOptions {
  std::string trace;
  uint64_t images = 1000;
  std::string model = "adr";
  std::string atoms = "any";
  uint64_t seed = 1;
  uint64_t queries = 1000;  // asked of one image at most, a uniform sample of all; 0: all
  std::string plain;        // library for the fresh processes; empty: see plain_library()
  int64_t step_budget = 0;  // of predictions; 0: by the pool's size
  bool memo_free = false;   // predictions run the image through the executor, instead of asking what is remembered
};

// One answer that is not among the predicted ones.
struct AuditCase {
  Instant instant;
  LineContents lines;  // the image: what the pending lines hold
  QueryId query = kRecoveryQuery;
  std::string query_text;
  std::vector<std::string> predicted;  // as text
  std::string actual;
};

struct AuditReport {
  uint64_t images = 0;        // drawn
  uint64_t distinct = 0;      // run: an image that is drawn twice runs once
  uint64_t crash_points = 0;  // of the trace
  uint64_t answers = 0;       // compared
  uint64_t not_compared = 0;  // answers of executions that the engine stops before their end
  uint64_t differences = 0;   // distinct (image, query)
  BigInt crash_states = 0;    // that images were drawn from
  bool instrumented = false;  // no plain library: the instrumented one ran with its hooks off
  bool left_out = false;      // some line has more contents than are kept; the others were never drawn
};

struct AuditListener {
  std::function<void(const AuditCase&)> found;
  std::function<void(uint64_t images, uint64_t distinct, uint64_t differences)> progressed;
};

// At most so many differences are told in full; all are counted.
inline constexpr uint64_t kAuditCases = 100;

// Where the build puts the plain twin of a target's library: plain/ beside it, under the same name. Empty: not there.
std::string plain_library(const std::string& library);

// A result for people: status and bytes in hex, or how the execution ended.
std::string text_of_result(QueryId query, std::string_view result);

Result<AuditReport> audit(const AuditOptions& options, const PredictorFactory& make_predictor,
                          const AuditListener& listener);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_AUDIT_AUDIT_H_
