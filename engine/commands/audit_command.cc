// `powercut-engine audit`: does the engine tell the truth? Exit code: 0 no difference, 1 differences.
#include <chrono>

#include "checker/audit/audit.h"
#include "checker/exploration/chunks/exploration.h"
#include "engine/commands.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

Json difference_event(const AuditCase& one) {
  Json lines = Json::array();
  for (const LineContent& line : one.lines) {
    lines.push_back({{"line", line.line}, {"content", hex(line.content.bytes)}});
  }
  return {{"event", "difference"},   {"crash_point", one.instant.ordinal}, {"when", one.instant.when}, {"lines", lines},
          {"query", one.query_text}, {"predicted", one.predicted},         {"actual", one.actual}};
}

int run(const AuditOptions& options, EventStream& events) {
  if (auto wrong = check_model(options.model, options.atoms, "audit")) return events.error(*wrong);
  events.hello("audit");
  const auto start = Clock::now();
  const auto seconds = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const AuditListener listener = {.found = [&](const AuditCase& one) { events.emit(difference_event(one)); },
                                  .progressed =
                                      [&](uint64_t images, uint64_t distinct, uint64_t differences) {
                                        events.emit({{"event", "progress"},
                                                     {"crash_points", images},
                                                     {"of", options.images},
                                                     {"crash_states", std::to_string(images)},
                                                     {"executions", distinct},
                                                     {"findings", differences},
                                                     {"seconds", seconds()}});
                                      }};
  const auto predictor = options.memo_free ? executor_predictor : explorer_predictor;
  const Result<AuditReport> report =
      audit(options, predictor(options.model, *atom_policy(options.atoms), options.step_budget), listener);
  if (!report) return events.error(report.error());
  events.emit({{"event", "audited"},
               {"images", report->images},
               {"distinct", report->distinct},
               {"answers", report->answers},
               {"not_compared", report->not_compared},
               {"differences", report->differences},
               {"crash_points", report->crash_points},
               {"crash_states", report->crash_states.str()},
               {"instrumented", report->instrumented},
               {"left_out", report->left_out},
               {"seconds", seconds()}});
  return events.end(report->differences > 0 ? kExitFindings : kExitOk);
}

void add_options(CommandLine& command, AuditOptions& options) {
  command.add_option("--trace", options.trace, "Trace file")->required();
  command.add_option("--images", options.images, "Crash images to draw")->range(1, 1 << 30);
  add_model_options(&command, &options.model, &options.atoms);
  command.add_option("--seed", options.seed, "Seed of the draw");
  command.add_flag("--memo-free", options.memo_free, "Predict by running the image through the hooks, without memo");
  command.add_option("--queries", options.queries, "Queries that one image is asked at most; 0: all");
  command.add_option("--plain", options.plain, "Library without instrumentation; default: plain/ beside the target's");
  command.add_option("--step-budget", options.step_budget, "Loop turns and calls that a prediction may take");
}

}  // namespace

void add_audit_command(CommandLine& app, int& exit_code) {
  add_command<AuditOptions>(app, exit_code, "audit", "Compare predictions with plain runs on random legal images",
                            add_options, run, Addresses::kFixed);
}

}  // namespace powercut
