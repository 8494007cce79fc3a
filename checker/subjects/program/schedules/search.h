// Which schedules of a program are run: random schedules, or every schedule with at most so many preemptions, few
// preemptions first (Musuvathi and Qadeer, PLDI 2007). A program cannot be put back to an earlier state, so each
// schedule is run from the beginning of the program: a list of choices that leads to a decision, one choice there, and
// then no preemption.
//
// Known inaccuracies: replayer/SCHEDULES.md, "Programs".
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SEARCH_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SEARCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event_stream.h"
#include "checker/subjects/program/schedules/schedule_tree.h"
#include "checker/subjects/program/schedules/scheduled_run.h"
#include "replayer/schedules/search.h"
#include "tracer/stream/converter.h"

namespace powercut {

struct ProgramSearchOptions {
  std::string kind = "bounded";
  std::string model = "adr";
  SearchLimits limits;          // preemptions are set
  double most_seconds = 0;      // of all schedules
  std::set<int> allowed = {0};  // exit statuses
};

class ProgramSearch {
 public:
  // Makes the `metadata` of the trace from a survey of the first run's stream.
  using Metadata = std::function<Result<std::string>(const StreamSurvey&)>;

  // All arguments outlive this object. `scratch`: a file for the trace of one run.
  ProgramSearch(const ProgramSearchOptions& options, ScheduledRuns* runs, std::string scratch, std::string trace,
                Metadata metadata)
      : options_(options),
        runs_(runs),
        scratch_(std::move(scratch)),
        trace_(std::move(trace)),
        metadata_(std::move(metadata)) {}

  // Writes the trace. Errors: the program cannot be recorded at all.
  std::optional<EngineError> run();

  // The `schedules` object of an engine's result.
  Json summary() const;
  // The survey of the first run's stream; nothing while the run has come to no pool.
  const std::optional<StreamSurvey>& survey() const { return survey_; }
  int status() const { return status_; }
  const std::string& stalled() const { return stalled_; }

 private:
  struct Way {
    Choices choices;
    std::shared_ptr<const std::vector<runtime::Decision>> decisions;  // that the choices were made of
  };

  bool first_run();
  void rehearse();
  void bounded();
  void sampled();
  // Runs overlapping operations one after the other, in each order that may explain their answers.
  void run_orders();
  bool run_order(const std::vector<uint32_t>& threads);
  // Runs the schedule, and adds the run to the tree. Nothing: the search has to end.
  std::optional<ScheduledRun> follow(const ScheduleRequest& request);
  std::optional<ScheduledRun> run_once(const ScheduleRequest& request);
  std::optional<RunEvents> events_of_run();
  bool does_it_again(const ScheduledRun& run);
  void judge_end(const ScheduledRun& run);
  bool learn(const ScheduledRun& run);
  // give_up() ends the search. pass_over() goes on without the schedules that lie behind the current one. Both return
  // false.
  bool give_up(std::string reason);
  bool pass_over(std::string reason);
  // Adds the ways that part from a run behind the decisions that were asked for.
  void branch(const ScheduledRun& run, const Way& way, std::vector<std::vector<Way>>* ways);

  const ProgramSearchOptions& options_;
  ScheduledRuns* runs_;
  const std::string scratch_, trace_;
  const Metadata metadata_;
  const double start_ = seconds_now();
  std::unique_ptr<ScheduleTree> tree_;
  std::optional<StreamSurvey> survey_;
  std::optional<EngineError> error_;
  std::set<uint64_t> places_;
  SearchCounts counts_;
  uint32_t threads_ = 1;
  uint32_t length_ = 0;  // decisions of the longest schedule so far
  bool over_ = false;
  size_t passed_over_ = 0, stalls_ = 0;
  int status_ = 0;
  std::string stalled_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SEARCH_H_
