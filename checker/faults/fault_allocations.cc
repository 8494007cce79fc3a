#include "checker/faults/fault_allocations.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checker/exploration/chunks/exploration.h"

namespace powercut {

AllocationFaults::AllocationFaults(const LoadedTrace& loaded, const FaultOptions& options, FaultReport* report,
                                   Progress* progress,
                                   std::function<void(const std::string&, const std::string&)> wrote)
    : loaded_(loaded),
      options_(options),
      report_(report),
      progress_(progress),
      wrote_(std::move(wrote)),
      executor_(executor_options(loaded, loaded.own_model(), AtomPolicy::kAny, options.step_budget)) {}

std::optional<EngineError> AllocationFaults::run() {
  Result<std::vector<RecordedOperation>> operations = operations_of(loaded_);
  if (!operations) return operations.error();
  operations_ = std::move(*operations);
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const std::vector<size_t> made_in =
      AllocationAttempt(loaded_, &executor_, report_, progress_, std::nullopt, &excused_, nullptr, nullptr)
          .run(operations_);
  executor_.memory().undo(start);
  FaultTally& tally = report_->tally;
  tally.points = tally.points_of = 1;
  tally.cases_of = made_in.size();
  tally.answers_left_out = excused_.size();
  const uint64_t allowed = options_.budget > 0 ? std::min<uint64_t>(options_.budget, made_in.size()) : made_in.size();
  for (uint64_t i = 0; i < allowed; ++i) {
    const uint64_t chosen = i * made_in.size() / allowed;
    if (auto error = fail({.allocation = chosen + 1, .operation = made_in[chosen]})) return error;
  }
  return std::nullopt;
}

std::optional<EngineError> AllocationFaults::fail(AllocationAttempt::Failure failure) {
  Json metadata = loaded_.metadata;
  metadata["fault"] = {{"kind", "alloc"}, {"allocation", failure.allocation}};
  // Explored from the operation that fails: before it, the trace is the recorded one.
  metadata["plan"]["scenario"]["phases"][0]["explore"] = failure.operation == 0;
  const std::string path = absl::StrCat(options_.traces, "/alloc-", failure.allocation, ".pct");
  TraceError error;
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(path, metadata.dump(), &error);
  if (writer == nullptr) return usage_error(error);
  const UndecidedMemory::Mark start = executor_.memory().mark();
  std::string subject;
  {
    Recorder recorder(*writer, kPoolBase, executor_.pool_size());
    AllocationAttempt attempt(loaded_, &executor_, report_, progress_, failure, &excused_, writer.get(), &recorder);
    attempt.run(operations_);
    report_->add_case(attempt.worst(), false);
    subject = attempt.subject();
  }
  ++report_->tally.executions;
  executor_.memory().undo(start);
  if (std::optional<TraceError> wrong = writer->finish()) return usage_error(*wrong);
  wrote_(path, subject);
  return std::nullopt;
}

}  // namespace powercut
