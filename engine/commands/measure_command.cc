// `powercut-engine measure`: what the worst operation of a trace did, for each of the measures that were asked for.
#include <cstring>

#include "base/user_file.h"
#include "checker/findings/finding.h"
#include "checker/trace/loaded_trace.h"
#include "engine/commands.h"
#include "tracer/view/operation_meter.h"

namespace powercut {
namespace {

struct MeasureCommand {
  std::string trace, request, loads;
};

void add_options(CommandLine& command, MeasureCommand& asked) {
  command.add_option("--trace", asked.trace, "Trace to read")->required();
  command.add_option("--request", asked.request, "The measures (JSON, reports/EVENTS.md)")->required();
  command.add_option("--loads", asked.loads, "The lines that each operation read, of 'record --loads'");
}

Result<std::vector<uint32_t>> read_loads(const std::string& path) {
  const Result<std::string> bytes = read_user_file(path, "Record the trace again.");
  if (!bytes) return bytes.error();
  if (bytes->size() % sizeof(uint32_t) != 0) {
    return usage_error("this is no file that 'record --loads' wrote", path, "Record the trace again.");
  }
  std::vector<uint32_t> each(bytes->size() / sizeof(uint32_t));
  if (!each.empty()) std::memcpy(each.data(), bytes->data(), bytes->size());
  return each;
}

int run_measure(const MeasureCommand& asked, EventStream& events) {
  events.hello("measure");
  Result<MeasureRequest> request = parse_measure_request(asked.request);
  if (!request) return events.error(request.error());
  std::vector<uint32_t> loads;
  if (!asked.loads.empty()) {
    Result<std::vector<uint32_t>> read = read_loads(asked.loads);
    if (!read) return events.error(read.error());
    loads = std::move(*read);
  }
  auto reader = open_run(asked.trace);
  if (!reader) return events.error(reader.error());
  // The first phase's flag governs format and open, as for the explorer (LoadedTrace::explored_at_start()).
  bool explored = false;
  if (auto plan = plan_of_trace((*reader)->metadata(), asked.trace)) {
    explored = !plan->scenario.phases.empty() && plan->scenario.phases[0].explore;
  }
  OperationMeter meter(*request, explored, asked.loads.empty() ? nullptr : &loads,
                       [&reader](uint32_t stack) { return (*reader)->stack(stack); });
  for (Event event; (*reader)->next(&event);) meter.add(event);
  if ((*reader)->error()) return events.error(usage_error(*(*reader)->error()));
  events.emit(modules_event((*reader)->modules()));
  for (const Json& measured : meter.results()) events.emit(measured);
  return events.end(kExitOk);
}

}  // namespace

void add_measure_command(CommandLine& app, int& exit_code) {
  add_command<MeasureCommand>(app, exit_code, "measure", "Measure single operations of a trace, and find the worst.",
                              add_options, run_measure);
}

}  // namespace powercut
