#include "checker/native/fault_allocations.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "checker/native/exploration.h"
#include "checker/native/queries.h"
#include "checker/native/trace_names.h"
#include "replayer/faults_allocation.h"
#include "tracer/runtime/recorder.h"

namespace powercut {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Lets a recorder hear what target code does under the executor.
class RecorderTap final : public SinkInFront {
 public:
  explicit RecorderTap(Recorder* recorder) : recorder_(recorder) {}

 protected:
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, CodePlace place) override {
    // The executor's window is all of memory, the recorder's is the pool.
    const powercut_window window = recorder_->store_window();
    if (address - window.base >= window.span) return;
    QuietHeap quiet;
    recorder_->store(address, size, flags, value, place.pc, place.frame);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, CodePlace place) override {
    QuietHeap quiet;
    recorder_->rmw_begin(address, size, place.pc, place.frame);
  }
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, CodePlace place) override {
    QuietHeap quiet;
    recorder_->rmw_end(address, size, stored, place.pc, place.frame);
  }
  void on_flush(uint64_t address, uint32_t kind, CodePlace place) override {
    QuietHeap quiet;
    recorder_->flush(address, kind, place.pc, place.frame);
  }
  void on_fence(uint32_t kind, CodePlace place) override {
    QuietHeap quiet;
    recorder_->fence(kind, place.pc, place.frame);
  }
  void on_mark(const char* name) override {
    QuietHeap quiet;
    recorder_->mark(name);
  }

 private:
  Recorder* recorder_;
};

}  // namespace

// One run. The executor's state is that before format, and is put back by the caller.
class AllocationFaults::Attempt {
 public:
  Attempt(AllocationFaults* all, uint64_t fail_at, TraceWriter* writer, Recorder* recorder)
      : all_(*all),
        session_(all->session_),
        fail_at_(fail_at),
        writer_(writer),
        tap_(recorder == nullptr ? nullptr : std::make_unique<RecorderTap>(recorder)),
        replay_(all->session_, &all->executor_) {
    allocation_fault = {};
    allocation_fault.fail_at = fail_at;
  }
  ~Attempt() { allocation_fault = {}; }

  void run() {
    for (size_t i = 0; i < all_.operations_.size() && going_; ++i) {
      if (fail_at_ > 0 && i == all_.met_in_[fail_at_ - 1] && i > 0)
        append(EventKind::kPhase, 1, nullptr, {}, "failing");
      step(all_.operations_[i]);
      if (fail_at_ == 0) all_.met_in_.resize(allocation_fault.count, i);
    }
  }
  const FaultAnswer& worst() const { return worst_; }

  std::string subject() const {
    const AllocationFault& fault = allocation_fault;
    return absl::StrCat("allocation ", fail_at_, ", of ", fault.size,
                        fault.of_pool ? " bytes of the pool" : " bytes of memory", ", in ", failed_in_);
  }

 private:
  void append(EventKind kind, uint8_t code, const RecordedOperation* operation, const std::string& value,
              const std::string& text) {
    Event event;
    event.kind = kind;
    event.code = code;
    event.value = bytes_of(value);
    event.text = text;
    if (operation != nullptr) event.key = bytes_of(operation->key);
    if (writer_ != nullptr) writer_->append(event);
    if (kind == EventKind::kOpBegin || kind == EventKind::kOpEnd || kind == EventKind::kCut) history_.apply(event);
  }

  bool needs_table(OpKind kind) const { return kind != OpKind::kFormat && kind != OpKind::kOpen; }

  void step(const RecordedOperation& operation) {
    if (needs_table(operation.kind) && !replay_.has_table()) return;
    if (operation.kind == OpKind::kInsert && present(operation.key) && session_.traits.checks_exists == 0) return;
    if (operation.kind == OpKind::kClose) ask_everything();
    const bool failed_before = allocation_fault.failed;
    const bool was_present = present(operation.key);
    append(EventKind::kOpBegin, static_cast<uint8_t>(operation.kind), &operation, operation.value, operation.text);
    all_.progress_->start(describe_operation(history_), session_.library->path());
    const FaultReplay::Done done = replay_.run(operation);
    const bool fails_here = allocation_fault.failed && !failed_before;
    if (fails_here) failed_in_ = describe_operation(history_);
    if (!done.outcome.returned()) {
      going_ = false;
      if (fail_at_ == 0) return;
      const FaultAnswer answer = weigh_query(history_, session_.traits, kRecoveryQuery, done.outcome, "");
      died(answer, done.outcome);
      return;
    }
    if (done.cut) {
      append(EventKind::kCut, 0, nullptr, {}, {});
      return;
    }
    if (fail_at_ > 0) judge(operation, done, was_present, fails_here);
    append(EventKind::kOpEnd, static_cast<uint8_t>(done.status), nullptr, done.value, {});
    if (operation.kind == OpKind::kFormat && done.status != POWERCUT_OK) going_ = false;
    if (!fails_here) return;
    // The failure was for once: whoever opens again gets a table.
    if (operation.kind == OpKind::kOpen && done.status != POWERCUT_OK) step(operation);
    if (replay_.has_table()) ask_everything();
  }

  bool present(const std::string& key) const {
    const auto at = history_.find(key);
    return at &&
           (history_.keys()[*at].acknowledged != kAbsent || history_.keys()[*at].possible.value_or(kAbsent) != kAbsent);
  }

  void judge(const RecordedOperation& operation, const FaultReplay::Done& done, bool was_present, bool fails_here) {
    const powercut_status status = done.status;
    if (fails_here && (status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED)) {
      note({FaultEffect::kDetected, absl::StrCat(name_of(operation.kind), " answers ", status_name(status)), {}});
      return;
    }
    std::vector<std::string> expected;
    bool right = status == POWERCUT_OK;
    switch (operation.kind) {
      case OpKind::kInsert:
        right = right || status == POWERCUT_FULL || (status == POWERCUT_EXISTS && was_present);
        expected = {"OK", "FULL"};
        break;
      case OpKind::kUpdate:
      case OpKind::kErase:
        right = was_present ? right || status == POWERCUT_FULL : status == POWERCUT_NOT_FOUND;
        expected = {was_present ? "OK" : "NOT_FOUND"};
        break;
      case OpKind::kLookup: {
        const std::string result = std::string(1, static_cast<char>(status)) + done.value;
        const QueryId query = query_id(QueryKind::kLookup, *history_.find(operation.key));
        if (auto violation = judge_query(history_, session_.traits, query, result)) {
          wrong(*violation, describe_query(history_, query));
        }
        return;
      }
      case OpKind::kMaintain:
        right = right || status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED;
        expected = {"OK", "FULL"};
        break;
      default:
        expected = {fails_here ? "FULL" : "OK"};
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

  // On the table as it lives, without a power cut: what the failure left in the handle shows here alone.
  void ask_everything() {
    if (fail_at_ == 0 || !allocation_fault.failed || !replay_.has_table()) return;
    const powercut_target& target = session_.library->target();
    std::vector<QueryId> queries;
    for (size_t k = 0; k < history_.keys().size(); ++k) {
      queries.push_back(query_id(QueryKind::kLookup, k));
      queries.push_back(query_id(QueryKind::kCopies, k));
    }
    const uint64_t regions = target.regions != nullptr ? target.regions(replay_.table()) : 0;
    for (uint64_t r = 0; r < regions; ++r) {
      if (target.walk != nullptr) queries.push_back(query_id(QueryKind::kWalk, r));
      if (target.verify != nullptr) queries.push_back(query_id(QueryKind::kVerify, r));
    }
    if (target.blocks != nullptr && target.owner != nullptr) queries.push_back(query_id(QueryKind::kBlocks, 0));
    const Executor::Mark mark = all_.executor_.mark();
    for (QueryId query : queries) {
      Decisions none;
      buffer_.clear();
      const Outcome outcome = all_.executor_.run(
          &none, [&] { run_query(target, replay_.table(), query, history_.keys(), "", "", &buffer_); });
      ++all_.report_->tally.query_runs;
      all_.executor_.undo(mark);
      if (!outcome.returned()) {
        died(weigh_query(history_, session_.traits, query, outcome, ""), outcome);
      } else if (auto violation =
                     judge_query(history_, session_.traits, query, {buffer_.view().data(), buffer_.view().size()})) {
        wrong(*violation, describe_query(history_, query));
      }
    }
  }

  void note(const FaultAnswer& answer) {
    if (answer.effect > worst_.effect) worst_ = answer;
  }
  void wrong(const Violation& violation, const std::string& query) {
    note({FaultEffect::kSilent, "", violation});
    add({violation, query});
  }
  void died(FaultAnswer answer, const Outcome& outcome) {
    // An abort is an end that was meant; for want of memory it is still not an answer.
    const std::string how = absl::StrCat(describe_operation(history_), " ", ending_of(outcome));
    answer.effect = FaultEffect::kCrashed;
    answer.how = how;
    answer.violation = {
        "unhandled-failure", absl::StrCat(how, ", since an allocation failed."), {"FULL"}, ending_of(outcome)};
    note(answer);
    add({answer.violation, ""});
  }
  struct Shown {
    Violation violation;
    std::string query;
  };
  void add(const Shown& shown) {
    std::vector<MemoryRange> code;
    if (const ProcessModule* own = module_at(session_.loaded, session_.library->resolved_path())) code = own->segments;
    all_.report_->add_finding({.violation = shown.violation,
                               .subject = subject(),
                               .offset = std::nullopt,
                               .operation = describe_operation(history_),
                               .operation_index = history_.operation().index,
                               .query = shown.query,
                               .stack = allocation_fault.stack(code)});
  }

  AllocationFaults& all_;
  const Session& session_;
  const uint64_t fail_at_;
  TraceWriter* writer_;
  std::unique_ptr<RecorderTap> tap_;
  FaultReplay replay_;
  History history_;
  ResultBuffer buffer_;
  FaultAnswer worst_;
  std::string failed_in_;
  bool going_ = true;
};

AllocationFaults::AllocationFaults(const Session& session, const FaultOptions& options, FaultReport* report,
                                   Progress* progress,
                                   std::function<void(const std::string&, const std::string&)> wrote)
    : session_(session),
      options_(options),
      report_(report),
      progress_(progress),
      wrote_(std::move(wrote)),
      executor_({.pool_size = session.plan.scenario.pool_size,
                 .step_budget = step_budget(options.step_budget, session.plan.scenario.pool_size),
                 .globals = session.globals,
                 .own_code = executable_code()}) {}

std::optional<EngineError> AllocationFaults::run() {
  Result<std::vector<RecordedOperation>> operations = operations_of(session_);
  if (!operations) return operations.error();
  operations_ = std::move(*operations);
  if (auto error = attempt(0)) return error;
  FaultTally& tally = report_->tally;
  tally.points = tally.points_of = 1;
  tally.cases_of = met_in_.size();
  const uint64_t allowed = options_.budget > 0 ? std::min<uint64_t>(options_.budget, met_in_.size()) : met_in_.size();
  for (uint64_t i = 0; i < allowed; ++i) {
    if (auto error = attempt(1 + i * met_in_.size() / allowed)) return error;
  }
  return std::nullopt;
}

std::optional<EngineError> AllocationFaults::attempt(uint64_t fail_at) {
  const Executor::Mark start = executor_.mark();
  if (fail_at == 0) {
    Attempt(this, 0, nullptr, nullptr).run();
    executor_.undo(start);
    return std::nullopt;
  }
  Json metadata = session_.metadata;
  metadata["fault"] = {{"kind", "alloc"}, {"allocation", fail_at}};
  // Explored from the operation that fails: before it, the trace is the recorded one.
  metadata["plan"]["scenario"]["phases"][0]["explore"] = met_in_[fail_at - 1] == 0;
  const std::string path = absl::StrCat(options_.traces, "/alloc-", fail_at, ".pct");
  TraceError error;
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(path, metadata.dump(), &error);
  if (writer == nullptr) return usage_error(error);
  std::string subject;
  {
    Recorder recorder(*writer, kPoolBase, executor_.pool_size());
    Attempt attempt(this, fail_at, writer.get(), &recorder);
    attempt.run();
    report_->add_case(attempt.worst(), false);
    subject = attempt.subject();
  }
  ++report_->tally.executions;
  executor_.undo(start);
  if (std::optional<TraceError> wrong = writer->finish()) return usage_error(*wrong);
  wrote_(path, subject);
  return std::nullopt;
}

}  // namespace powercut
