#include "checker/schedules/thread_phase.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "checker/schedules/recorded_threads.h"
#include "replayer/media/medium.h"
#include "tracer/record/key_bytes.h"
#include "tracer/world/quiet_heap.h"

namespace powercut {
namespace {

// Values of threads are numbered from here on, so that none is one of the phases before.
constexpr uint64_t kFirstSerial = 2'000'000'000;
// States that are remembered, at some 40 bytes each.
constexpr uint64_t kMostStates = 50'000'000;

// Nothing: the step is no single operation, and a plan that has it among threads was refused (plan.cc).
std::optional<OpKind> kind_of(StepKind kind) {
  switch (kind) {
    case StepKind::kInsert:
      return OpKind::kInsert;
    case StepKind::kUpdate:
      return OpKind::kUpdate;
    case StepKind::kErase:
      return OpKind::kErase;
    case StepKind::kLookup:
      return OpKind::kLookup;
    case StepKind::kIncrement:
      return OpKind::kIncrement;
    case StepKind::kMaintain:
      return OpKind::kMaintain;
    case StepKind::kFill:
    case StepKind::kUntil:
    case StepKind::kMix:
    case StepKind::kAny:
      break;
  }
  return std::nullopt;
}

std::vector<uint8_t> bytes_of(int64_t difference) {
  const std::string bytes = bytes_of_sum(difference);
  return {bytes.begin(), bytes.end()};
}

// The steps of one thread as operations, each write with a value of its own; alternatives share one.
std::vector<Alternatives> operations_of(const Scenario& scenario, const std::vector<Step>& steps, uint64_t* serial) {
  std::vector<Alternatives> out;
  for (const Step& step : steps) {
    if (step.kind == StepKind::kAny) {
      out.emplace_back();
      const uint64_t own = (*serial)++;
      for (const Step& one : step.any) {
        uint64_t next = own;
        out.back().push_back(operations_of(scenario, {one}, &next)[0][0]);
      }
      continue;
    }
    const OpKind kind = kind_of(step.kind).value();
    if (kind == OpKind::kMaintain) {
      out.push_back({{.kind = kind, .key = {}, .value = {}, .text = step.text}});
      continue;
    }
    std::vector<uint64_t> keys = step.keys;
    for (uint64_t key = step.from; step.keys.empty() && key <= step.to; ++key) keys.push_back(key);
    for (const uint64_t key : keys) {
      std::vector<uint8_t> value;
      if (kind == OpKind::kInsert || kind == OpKind::kUpdate)
        value = scenario.data.value_of((*serial)++, step.value_size);
      if (kind == OpKind::kIncrement) value = bytes_of(step.by);
      out.push_back(
          {{.kind = kind, .id = key, .key = scenario.data.key_of(key), .value = std::move(value), .text = {}}});
    }
  }
  return out;
}

}  // namespace

ThreadPhase::ThreadPhase(const Plan& plan, const TargetLibrary& library, const powercut_traits& traits,
                         const Pool& pool, TraceWriter* writer, Recorder* recorder)
    : plan_(plan),
      library_(library),
      pool_(pool),
      writer_(writer),
      recorder_(recorder),
      model_(make_model(plan.search.model, AtomPolicy::kAny, pool.size())),
      checks_exists_(traits.checks_exists != 0),
      promise_(Promise::of(traits)),
      history_(promise_) {
  recorder_->redirect([this](const Event& event) {
    writer_->append(event);
    if (event.kind != EventKind::kMarker) hear(event);
  });
}

void ThreadPhase::append(const Event& event) { hear(event); }

void ThreadPhase::hear(const Event& event) {
  const QuietHeap quiet;
  Event numbered = event;
  numbered.index = events_++;
  history_.apply(numbered);
  model_->apply(numbered);
}

// Goes back in the trace to the steps that the current schedule shares with the written one, and writes the rest.
void ThreadPhase::write_schedule() {
  if (machine_->trouble() && !machine_->trouble()->followed) return;
  const std::vector<TargetMachine::Step>& steps = machine_->steps();
  size_t common = 0;
  while (common < std::min(steps.size(), written_.size()) && steps[common].number == written_[common].number) ++common;
  const size_t stand = common == 0 ? 0 : steps[common - 1].events;
  if (stand < events_written_) {
    Event back;
    back.kind = EventKind::kBack;
    back.size = stand;
    writer_->append(back);
  }
  for (size_t i = stand; i < machine_->events().size(); ++i) writer_->append(machine_->events()[i].view());
  written_ = steps;
  events_written_ = machine_->events().size();
  Event event;
  event.kind = EventKind::kCrashPoint;
  if (const auto& trouble = machine_->trouble()) {
    event.kind = EventKind::kTrouble;
    event.code = static_cast<uint8_t>(trouble->kind);
    event.text = trouble->text;
    writer_->append(event);
    went_wrong_ = true;
    return;
  }
  writer_->append(event);
}

std::optional<EngineError> ThreadPhase::run(const Phase& phase, powercut_table* table, const OnMark& mark,
                                            Progress* progress) {
  const auto start = std::chrono::steady_clock::now();
  Event fork;
  fork.kind = EventKind::kFork;
  fork.code = static_cast<uint8_t>(phase.threads.size());
  writer_->append(fork);
  ThreadWork work;
  work.target = &library_.target();
  work.table = table;
  work.background = library_.background();
  work.recorder = recorder_;
  work.history = &history_;
  work.pool_size = pool_.size();
  work.first_event = events_ + 1;
  work.most_value = plan_.scenario.data.value.most + 64;
  work.mark = mark;
  work.checks_exists = checks_exists_;
  work.store_buffers = plan_.search.visibility == "tso";
  add_operations(phase, &work);
  if (auto error = refuse(work)) return error;
  if (auto error = plan_.search.kind == "recorded" ? record(work, progress) : search(work, progress)) return error;
  recorder_->redirect(nullptr);
  const std::string covered = summary().dump();
  Event searched;
  searched.kind = EventKind::kSearched;
  searched.text = covered;
  writer_->append(searched);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::nullopt;
}

void ThreadPhase::add_operations(const Phase& phase, ThreadWork* work) {
  uint64_t serial = kFirstSerial;
  for (const std::vector<Step>& steps : phase.threads) {
    work->clients.push_back(operations_of(plan_.scenario, steps, &serial));
    operations_ = std::max(operations_, work->clients.back().size());
  }
  threads_ = work->clients.size();
  work->alike = phase.alike;
  const auto last = std::find_if(plan_.scenario.phases.begin(), plan_.scenario.phases.end(),
                                 [&](const Phase& other) { return &other == &phase; });
  for (auto after = last + 1; after != plan_.scenario.phases.end(); ++after) {
    for (const Alternatives& more : operations_of(plan_.scenario, after->steps, &serial)) {
      work->after.push_back(more[0]);
    }
  }
}

std::optional<EngineError> ThreadPhase::refuse(const ThreadWork& work) const {
  const std::string where = "scenario " + plan_.scenario.name;
  if (promise_.counts && promise_.buffered) {
    return usage_error("which increments of threads a buffered table of counters may lose is not followed", where,
                       "Write the operations as 'steps' of one thread.");
  }
  const auto lacks = [&](const ThreadOperation& operation) -> std::optional<EngineError> {
    if (library_.has(operation.kind)) return std::nullopt;
    EngineError error = usage_error("the target does not support " + need_of(operation), where,
                                    "Take the operation out of the scenario, or name another target.");
    error.needs = need_of(operation);
    return error;
  };
  for (const auto& operations : work.clients) {
    for (const Alternatives& alternatives : operations) {
      for (const ThreadOperation& operation : alternatives) {
        if (auto error = lacks(operation)) return error;
      }
    }
  }
  for (const ThreadOperation& operation : work.after) {
    if (auto error = lacks(operation)) return error;
  }
  return std::nullopt;
}

std::optional<EngineError> ThreadPhase::record(const ThreadWork& work, Progress* progress) {
  const RecordedThreads recorded = record_threads(
      work, model_->rules().stores_at_once(), [progress] { progress->steps.fetch_add(1, std::memory_order_relaxed); },
      [this](const Event& event) { writer_->append(event); });
  counts_.schedules = counts_.ended = 1;
  counts_.steps = recorded.turns;
  counts_.cuts = counts_.frontiers = recorded.cuts;
  counts_.reason = recorded.doubt.empty() ? "one was recorded" : recorded.doubt;
  not_run_ = recorded.unsupported;
  return std::nullopt;
}

std::optional<EngineError> ThreadPhase::search(const ThreadWork& work, Progress* progress) {
  try {
    choices_.emplace(work);
  } catch (const std::runtime_error& problem) {
    return usage_error(problem.what(), "scenario " + plan_.scenario.name,
                       "Let the threads choose among other operations.");
  }
  clients_ = choices_->clients();
  try {
    machine_ = std::make_unique<TargetMachine>(work, *choices_, *model_);
  } catch (const std::runtime_error& problem) {
    return harness_error(problem.what(), "scenario " + plan_.scenario.name, "Take threads out of the scenario.");
  }
  SearchLimits limits;
  limits.preemptions = plan_.search.preemptions;
  limits.schedules = plan_.search.schedules;
  limits.seed = plan_.seed;
  const auto stop = [this, progress](const SearchCounts& counts) -> std::optional<std::string> {
    if (!machine_->doubt().empty()) return machine_->doubt();
    progress->steps.fetch_add(1, std::memory_order_relaxed);
    if (counts.states < kMostStates) return std::nullopt;
    return "after " + std::to_string(counts.states) + " states, all that are remembered";
  };
  machine_->show_shared(true);
  rehearse(machine_.get(), plan_.seed, [this] { return machine_->places(); }, stop);
  // If every schedule is run, each race shows beside the state that it begins in. If only some schedules are run, it
  // may not show.
  const bool all = plan_.search.kind == "bounded" && !plan_.search.preemptions;
  machine_->show_shared(!all || plan_.search.slow || work.store_buffers);
  machine_->tell_by_chain(plan_.search.slow);
  const std::unique_ptr<ScheduleSearch> search =
      make_search(plan_.search.kind, machine_.get(), limits, [this] { write_schedule(); }, stop);
  if (search == nullptr) {
    return usage_error("there is no search '" + plan_.search.kind + "'", "scenario " + plan_.scenario.name,
                       "Ask for bounded, random, pct or recorded.");
  }
  if (machine_->unsupported().empty()) search->run();
  counts_ = search->counts();
  if (!machine_->doubt().empty()) {
    counts_.complete = false;
    counts_.reason = machine_->doubt();
  }
  not_run_ = machine_->unsupported();
  // Each schedule that has ended well has run all operations.
  if (const std::string never = machine_->never_ended(); counts_.complete && !went_wrong_ && !never.empty()) {
    not_run_ = never + " was not run in any schedule";
    counts_.complete = false;
    counts_.reason = not_run_;
  }
  machine_.reset();
  return std::nullopt;
}

Json ThreadPhase::summary() const {
  Json out = {{"search", plan_.search.kind},
              {"preemptions", nullptr},
              {"model", plan_.search.model},
              {"threads", threads_},
              {"operations", operations_},
              {"schedules", counts_.schedules},
              {"states", counts_.states},
              {"steps", counts_.steps},
              {"cuts", counts_.cuts},
              {"frontiers", counts_.frontiers},
              {"clients", clients_},
              {"restarts", counts_.restarts},
              {"visibility", plan_.search.visibility},
              {"complete", counts_.complete},
              {"reason", counts_.reason}};
  if (!not_run_.empty()) out["not_run"] = not_run_;
  if (plan_.search.preemptions) out["preemptions"] = *plan_.search.preemptions;
  return out;
}

}  // namespace powercut
