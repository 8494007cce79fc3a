// A walk through a trace with all that is known of the instant at hand: history, legal contents of every pending
// line, the definite bytes in the pool of crash images, and the recent past of each line.
//
// It holds no process state but the pool (replayer/executor/executor.h, map_pool()): a forked child goes on from the
// instant at which it was forked, and neither disturbs the other.
#ifndef POWERCUT_CHECKER_SESSION_TRACE_FOLLOWER_H_
#define POWERCUT_CHECKER_SESSION_TRACE_FOLLOWER_H_

#include <memory>
#include <string_view>
#include <utility>

#include "checker/oracle/trace_walk.h"
#include "checker/session/session.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/crash_points/line_timeline.h"

namespace powercut {

class TraceFollower {
 public:
  // `reader` stands at the first event. `pool`: where the crash images are made, zeroed; null to count them only.
  TraceFollower(const Session& session, std::string_view model, AtomPolicy policy, std::unique_ptr<TraceReader> reader,
                uint8_t* pool)
      : TraceFollower(session.plan.scenario.pool_size, session.explored_at_start(), model, policy, std::move(reader),
                      pool) {}
  // The same without a session: a pool of `pool_size` bytes, explored from the start or from a phase on.
  TraceFollower(uint64_t pool_size, bool explored, std::string_view model, AtomPolicy policy,
                std::unique_ptr<TraceReader> reader, uint8_t* pool)
      : reader_(std::move(reader)),
        model_(make_model(model, policy, pool_size)),
        walk_(reader_.get(), model_.get(), explored),
        frontier_(pool),
        timeline_(pool_size / kLineSize) {}

  // Goes on to the next explored crash point; `saw(event)` hears of each event on the way. False at the end of the
  // trace, or on a read error: see reader().
  template <typename Saw>
  bool next(const Saw& saw) {
    return walk_.next([&](const Event& event) {
      timeline_.apply(event);
      if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) last_store_ = event.stack;
      saw(event);
    });
  }
  bool next() {
    return next([](const Event&) {});
  }
  // Brings pool and frontier() to the crash point; returns what changed since the last call.
  decltype(auto) follow() { return frontier_.follow(model_.get()); }

  const Instant& instant() const { return walk_.instant(); }
  uint64_t crash_points() const { return walk_.crash_points(); }
  const TraceReader& reader() const { return *reader_; }
  const Model& model() const { return *model_; }
  const History& history() const { return walk_.history(); }
  const Frontier& frontier() const { return frontier_; }
  const LineTimeline& timeline() const { return timeline_; }
  // The stack of the trace's last store up to here, of whatever line; 0 when there is none, or it has none.
  uint32_t last_store() const { return last_store_; }

 private:
  std::unique_ptr<TraceReader> reader_;
  std::unique_ptr<Model> model_;
  TraceWalk walk_;
  Frontier frontier_;
  LineTimeline timeline_;
  uint32_t last_store_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SESSION_TRACE_FOLLOWER_H_
