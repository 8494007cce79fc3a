// `powercut-engine acknowledge-files`: puts the operations that a program's output acknowledges into its recording.
//
//     powercut-engine acknowledge-files --trace=FILE --output=FILE --out=FILE --report=FILE
//
// `--output` is JSON: {"ack": expression, "printed": as record-files reports it, "lines": [[1 stdout or 2 stderr, end
// of the line in bytes, text]…]}. The report is {"events", "lines", "together", "at_end"}, or an
// error as record-files reports it. `events` are those of --out; the others count lines, as those of `converted` do
// (reports/EVENTS.md).
#include <string>
#include <string_view>
#include <vector>

#include "base/event_stream.h"
#include "base/user_file.h"
#include "engine/commands.h"
#include "engine/report_file.h"
#include "tracer/stream/acknowledged_tree.h"

namespace powercut {
namespace {

struct AcknowledgeOptions {
  std::string trace, output, out, report;
};

constexpr const char* kNext = "Give --output the lines and sizes of the recorded output.";

bool is_row(const Json& row, bool text_last) {
  return row.is_array() && row.size() == 3 && row[0].is_number_unsigned() && row[1].is_number_unsigned() &&
         (text_last ? row[2].is_string() : row[2].is_number_unsigned());
}

Result<Json> acknowledge(const AcknowledgeOptions& options) {
  const Result<std::string> text = read_user_file(options.output, kNext);
  if (!text) return text.error();
  const Json given = parse_json(*text);
  if (!given.is_object() || !given.contains("ack") || !given.contains("printed") || !given.contains("lines")) {
    return usage_error("not an object with ack, printed and lines", options.output, kNext);
  }
  std::vector<TreeOutput> outputs;
  std::vector<StreamOutput> sizes;
  for (const Json& row : given["printed"]) {
    if (!is_row(row, false)) return usage_error("a size is no [events, output, size]", options.output, kNext);
    sizes.push_back({row[1].get<uint8_t>(), row[2].get<uint64_t>()});
    outputs.push_back({row[0].get<uint64_t>(), sizes.back()});
  }
  std::vector<Acknowledgement> lines;
  for (const Json& row : given["lines"]) {
    if (!is_row(row, true)) return usage_error("a line is no [output, end, text]", options.output, kNext);
    lines.push_back({row[0].get<uint8_t>(), row[1].get<uint64_t>(), row[2].get<std::string>()});
  }
  const std::vector<AcknowledgedTogether> groups = acknowledged_together(lines, sizes);
  uint64_t events = 0;
  size_t together = 0, at_end = 0;
  for (const AcknowledgedTogether& group : groups) {
    if (group.texts.size() > 1) together += group.texts.size();
    if (group.record == outputs.size()) at_end += group.texts.size();
  }
  if (const auto wrong = acknowledge_tree(options.trace, options.out, given["ack"], outputs, groups, &events)) {
    return usage_error(*wrong);
  }
  return Json{{"events", events}, {"lines", lines.size()}, {"together", together}, {"at_end", at_end}};
}

}  // namespace

int acknowledge_files(int argc, char** argv) {
  AcknowledgeOptions options;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::string* const field = name == "--trace"    ? &options.trace
                               : name == "--output" ? &options.output
                               : name == "--out"    ? &options.out
                               : name == "--report" ? &options.report
                                                    : nullptr;
    if (field == nullptr || equals == std::string_view::npos) return kExitUsage;
    *field = word.substr(equals + 1);
  }
  return write_report(options.report, acknowledge(options));
}

}  // namespace powercut
