// A phase of threads: led through the schedules that the plan asks for, and written to the trace as a tree of schedules
// (tracer/format/FORMAT.md). A crash point stands wherever a power cut leaves images that no earlier cut has left.
#ifndef POWERCUT_CHECKER_SCHEDULES_THREAD_PHASE_H_
#define POWERCUT_CHECKER_SCHEDULES_THREAD_PHASE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/oracle/history.h"
#include "checker/schedules/client_choices.h"
#include "checker/schedules/target_machine.h"
#include "replayer/schedules/search.h"
#include "tracer/record/recording.h"

namespace powercut {

class ThreadPhase final : public Announcer, public PhaseOfThreads {
 public:
  // All arguments outlive this. From here on the recorder's events go through append().
  ThreadPhase(const Plan& plan, const TargetLibrary& library, const powercut_traits& traits, const Pool& pool,
              TraceWriter* writer, Recorder* recorder);

  // Takes an event of the recording: operations, phases and cuts before the threads.
  void append(const Event& event) override;
  std::optional<EngineError> run(const Phase& phase, powercut_table* table, const OnMark& mark,
                                 Progress* progress) override;

  // The `schedules` object of an engine's result.
  Json summary() const;
  double seconds() const { return seconds_; }

 private:
  void hear(const Event& event);
  void write_schedule();
  // Adds the operations of the threads, and of all phases behind the threads, to `work`.
  void add_operations(const Phase& phase, ThreadWork* work);
  // Returns an error if the target lacks something that the threads ask for.
  std::optional<EngineError> refuse(const ThreadWork& work) const;
  std::optional<EngineError> search(const ThreadWork& work, Progress* progress);
  std::optional<EngineError> record(const ThreadWork& work, Progress* progress);

  const Plan& plan_;
  const TargetLibrary& library_;
  const Pool& pool_;
  TraceWriter* writer_;
  Recorder* recorder_;
  std::unique_ptr<Model> model_;
  const bool checks_exists_;
  const Promise promise_;
  History history_;
  uint64_t events_ = 0;

  std::optional<ClientChoices> choices_;
  std::unique_ptr<TargetMachine> machine_;
  std::vector<TargetMachine::Step> written_;  // of the schedule that the trace is at
  size_t events_written_ = 0;                 // number of events of that schedule
  SearchCounts counts_;
  size_t threads_ = 0, operations_ = 0;
  uint64_t clients_ = 1;
  bool went_wrong_ = false;  // some schedule did, by itself
  std::string not_run_;      // an operation that the scenario asks for
  double seconds_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_THREAD_PHASE_H_
