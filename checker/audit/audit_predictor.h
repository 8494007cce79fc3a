// The engine's prediction of recovery's and the queries' answers on an image: an audit tests this prediction.
#ifndef POWERCUT_CHECKER_AUDIT_AUDIT_PREDICTOR_H_
#define POWERCUT_CHECKER_AUDIT_AUDIT_PREDICTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checker/trace/trace_follower.h"
#include "replayer/explorer/explorer.h"

namespace powercut {

// A crash point from which images were drawn. All references outlive the images of the crash point.
struct AuditPoint {
  const Instant& instant;
  const LineSets& sets;    // the pending lines; all else is definite, and in Predictor::pool()
  const History& history;  // the same object at every point
};

// The order of calls: at() for crash points in the order of the trace; then for each image of the point image(),
// questions about that image, and done(). An image is not asked about every query: answers are best worked out late.
class Predictor {
 public:
  virtual ~Predictor() = default;
  // Called at every crash point, in order, before at(); `changes` are the frontier's since the point before.
  virtual void pass(const Instant&, const Frontier&, const std::vector<Frontier::Change>& /*changes*/, const History&) {
  }
  // Memory of the pool's size in which the audit keeps the definite bytes of the crash point at hand.
  virtual uint8_t* pool() = 0;
  virtual void at(const AuditPoint& point) = 0;
  // The image in which line i of the point's sets has its content number contents[i].
  virtual void image(const std::vector<uint32_t>& contents) = 0;

  // All queries that can be asked of the image, in order, without kRecoveryQuery; none where recovery ends badly.
  virtual const std::vector<QueryId>& asked() = 0;
  // Whether the image may give this result. kRecoveryQuery asks for the result of recovery itself.
  virtual bool allows(QueryId query, std::string_view result);
  // The results that the image may give. Empty: the query is not known.
  virtual const std::vector<std::string>& predicted(QueryId query) = 0;
  // No more questions about the image follow: pool() holds the bytes from before image().
  virtual void done() = 0;

  // Whether the engine may stop this execution before its end: at a store that leaves the target's memory, or because
  // the step budget is empty. Without hooks it would go on, to no end or to harm, so that it is not run.
  bool stops(QueryId query);
};

using PredictorFactory = std::function<std::unique_ptr<Predictor>(const LoadedTrace& loaded)>;

// Runs the image itself, in this process, through the hooks and with undo, but without branches and memo. It shows
// that instrumentation, hooks and undo are true to the plain library.
PredictorFactory executor_predictor(const std::string& model, AtomPolicy policy, int64_t step_budget);

// Explores the trace as `explore` does, and says what the explorer remembers: the result of recovery by the trie, and
// for each query the answers that were judged under the obligations in force. An answer that is not among them is one
// that exploration has passed over, whether it is right or wrong.
PredictorFactory explorer_predictor(const std::string& model, AtomPolicy policy, int64_t step_budget);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_AUDIT_AUDIT_PREDICTOR_H_
