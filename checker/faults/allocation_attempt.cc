#include "checker/faults/allocation_attempt.h"

#include "absl/strings/str_cat.h"
#include "checker/oracle/queries.h"
#include "tracer/format/trace_names.h"
#include "tracer/world/refused_allocation.h"

namespace powercut {
namespace {

std::span<const uint8_t> bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Queries that a handle can answer without a power cut. Probes write, and are left to the exploration of the trace.
std::vector<QueryId> live_queries(const powercut_target& target, size_t keys, uint64_t regions) {
  std::vector<QueryId> out;
  for (size_t k = 0; k < keys; ++k) {
    out.push_back(query_id(QueryKind::kLookup, k));
    out.push_back(query_id(QueryKind::kCopies, k));
  }
  for (uint64_t r = 0; r < regions; ++r) {
    if (target.walk != nullptr) out.push_back(query_id(QueryKind::kWalk, r));
    if (target.verify != nullptr) out.push_back(query_id(QueryKind::kVerify, r));
  }
  if (target.blocks != nullptr && target.owner != nullptr) out.push_back(query_id(QueryKind::kBlocks, 0));
  return out;
}

}  // namespace

AllocationAttempt::AllocationAttempt(const LoadedTrace& loaded, Executor* executor, FaultReport* report,
                                     Progress* progress, std::optional<Failure> failure, Excused* excused,
                                     TraceWriter* writer, Recorder* recorder)
    : loaded_(loaded),
      executor_(executor),
      report_(report),
      progress_(progress),
      failure_(failure),
      excused_(excused),
      writer_(writer),
      tap_(recorder == nullptr ? nullptr : std::make_unique<RecorderTap>(recorder)),
      replay_(loaded, executor) {
  allocation_fault = {};
  if (failure_) allocation_fault.fail_at = failure_->allocation;
}

AllocationAttempt::~AllocationAttempt() { allocation_fault = {}; }

std::vector<size_t> AllocationAttempt::run(std::span<const RecordedOperation> operations) {
  std::vector<size_t> made_in;
  for (size_t i = 0; i < operations.size() && going_; ++i) {
    // Exploring begins here: until now the trace is the recorded one.
    if (failure_ && i == failure_->operation && i > 0) append(EventKind::kPhase, 1, nullptr, {}, "failing");
    step(operations[i]);
    made_in.resize(allocation_fault.count, i);
  }
  return made_in;
}

std::string AllocationAttempt::subject() const {
  const AllocationFault& fault = allocation_fault;
  return absl::StrCat("allocation ", fault.fail_at, ", of ", fault.size,
                      fault.of_pool ? " bytes of the pool" : " bytes of memory", ", in ", failed_in_);
}

void AllocationAttempt::append(EventKind kind, uint8_t code, const RecordedOperation* operation,
                               const std::string& value, const std::string& text) {
  Event event;
  event.kind = kind;
  event.code = code;
  event.value = bytes_in(value);
  event.text = text;
  if (operation != nullptr) event.key = bytes_in(operation->key);
  if (writer_ != nullptr) writer_->append(event);
  if (kind == EventKind::kOpBegin || kind == EventKind::kOpEnd || kind == EventKind::kCut) history_.apply(event);
}

void AllocationAttempt::step(const RecordedOperation& operation) {
  const bool needs_table = operation.kind != OpKind::kFormat && operation.kind != OpKind::kOpen;
  if (needs_table && !replay_.has_table()) return;
  const bool was_present = present(operation.key);
  if (operation.kind == OpKind::kInsert && was_present && loaded_.traits.checks_exists == 0) return;
  if (operation.kind == OpKind::kClose) ask_everything();
  const AllocationFault before = allocation_fault;
  append(EventKind::kOpBegin, static_cast<uint8_t>(operation.kind), &operation, operation.value, operation.text);
  progress_->start(describe_operation(history_), loaded_.library->path());
  const FaultReplay::Done done = replay_.run(operation);
  const bool fails_here = allocation_fault.failed && !before.failed;
  if (fails_here) failed_in_ = describe_operation(history_);
  if (!done.outcome.returned()) {
    going_ = false;
    if (failure_) died(done.outcome);
    return;
  }
  if (done.cut) {
    append(EventKind::kCut, 0, nullptr, {}, {});
    return;
  }
  judge(operation, done, was_present, fails_here);
  append(EventKind::kOpEnd, static_cast<uint8_t>(done.status), nullptr, done.value, {});
  if (operation.kind == OpKind::kFormat && done.status != POWERCUT_OK) going_ = false;
  // Where a failing run is asked, this one is: what is wrong here is not the fault of the failed allocation.
  if (!failure_ && allocation_fault.count > before.count && replay_.has_table()) ask_everything();
  if (!fails_here) return;
  // The failure was for once: the next open succeeds.
  if (operation.kind == OpKind::kOpen && done.status != POWERCUT_OK) step(operation);
  if (replay_.has_table()) ask_everything();
}

bool AllocationAttempt::present(const std::string& key) const {
  const auto at = history_.find(key);
  if (!at) return false;
  const KeyHistory& known = history_.keys()[*at];
  return known.acknowledged != kAbsent || known.possible.value_or(kAbsent) != kAbsent;
}

void AllocationAttempt::judge(const RecordedOperation& operation, const FaultReplay::Done& done, bool was_present,
                              bool fails_here) {
  const powercut_status status = done.status;
  if (fails_here && (status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED)) {
    note({FaultEffect::kDetected, absl::StrCat(name_of(operation.kind), " answers ", status_name(status)), {}});
    return;
  }
  std::vector<std::string> expected = {"OK"};
  bool right = status == POWERCUT_OK;
  switch (operation.kind) {
    case OpKind::kLookup:
      return judge_lookup(operation, done);
    case OpKind::kInsert:
      right = right || status == POWERCUT_FULL || (status == POWERCUT_EXISTS && was_present);
      expected = {"OK", "FULL"};
      break;
    case OpKind::kUpdate:
    case OpKind::kErase:
      right = was_present ? right || status == POWERCUT_FULL : status == POWERCUT_NOT_FOUND;
      expected = {was_present ? "OK" : "NOT_FOUND"};
      break;
    case OpKind::kIncrement:
      right = right || status == POWERCUT_FULL;
      expected = {"OK", "FULL"};
      break;
    case OpKind::kMaintain:
      right = right || status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED;
      expected = {"OK", "FULL"};
      break;
    case OpKind::kFormat:
    case OpKind::kOpen:
    case OpKind::kClose:
      if (fails_here) expected = {"FULL"};
      break;
  }
  if (right) return;
  const bool lost = status == POWERCUT_NOT_FOUND && was_present;
  wrong({lost ? "lost-item" : "wrong-status",
         absl::StrCat(describe_operation(history_), " answers ", status_name(status),
                      fails_here ? ", when an allocation in it failed." : ", after an allocation had failed."),
         expected, status_name(status)},
        "");
}

void AllocationAttempt::judge_lookup(const RecordedOperation& operation, const FaultReplay::Done& done) {
  const std::string result = std::string(1, static_cast<char>(done.status)) + done.value;
  const QueryId query = query_id(QueryKind::kLookup, *history_.find(operation.key));
  if (auto violation = judge_query(history_, loaded_.traits, query, result)) {
    wrong(*violation, describe_query(history_, query));
  }
}

// On the table as it lives, without a power cut: what the failure left in the handle shows here alone.
void AllocationAttempt::ask_everything() {
  if (failure_ && !allocation_fault.failed) return;
  const uint64_t count = allocation_fault.count;  // of the run, without what queries allocate
  const powercut_target& target = loaded_.library->target();
  const UndecidedMemory::Mark mark = executor_->memory().mark();
  const std::string some(loaded_.plan.scenario.data.value.most, 0);  // no live query stores a value
  uint64_t regions = 0;
  if (target.regions != nullptr) {
    // Runs in the executor, which alone gives the target its pool.
    Decisions none;
    const Outcome outcome = executor_->run(&none, [&] { regions = target.regions(replay_.table()); });
    executor_->memory().undo(mark);
    if (!outcome.returned() && failure_) died(outcome);
  }
  for (QueryId query : live_queries(target, history_.keys().size(), regions)) {
    Decisions none;
    buffer_.clear();
    const Outcome outcome = executor_->run(
        &none, [&] { run_query(target, replay_.table(), query, history_.keys(), some, some, &buffer_); });
    ++report_->tally.query_runs;
    executor_->memory().undo(mark);
    if (!outcome.returned()) {
      if (failure_) died(outcome);
    } else if (auto violation = judge_query(history_, loaded_.traits, query, buffer_.view())) {
      wrong(*violation, describe_query(history_, query));
    }
  }
  allocation_fault.count = count;
}

void AllocationAttempt::note(const FaultAnswer& answer) {
  if (answer.effect > worst_.effect) worst_ = answer;
}

void AllocationAttempt::wrong(const Violation& violation, const std::string& query) {
  const std::string answer =
      absl::StrCat(violation.invariant, "/", query.empty() ? describe_operation(history_) : query);
  if (!failure_) excused_->insert(answer);
  if (excused_->contains(answer)) return;
  note({FaultEffect::kSilent, "", violation});
  add(violation, query);
}

// However it ended, also by an abort of its own: for want of memory that is not an answer.
void AllocationAttempt::died(const Outcome& outcome) {
  const std::string how = absl::StrCat(describe_operation(history_), " ", ending_of(outcome));
  const Violation violation = {
      "unhandled-failure", absl::StrCat(how, ", since an allocation failed."), {"FULL"}, ending_of(outcome)};
  note({FaultEffect::kCrashed, how, violation});
  add(violation, "");
}

void AllocationAttempt::add(const Violation& violation, const std::string& query) {
  std::vector<MemoryRange> code;
  if (const ProcessModule* own = module_at(loaded_.process_modules, loaded_.library->resolved_path()))
    code = own->segments;
  report_->add_finding({.violation = violation,
                        .subject = subject(),
                        .offset = std::nullopt,
                        .operation = describe_operation(history_),
                        .operation_index = history_.operation().index,
                        .query = query,
                        .stack = allocation_fault.stack(code)});
}

}  // namespace powercut
