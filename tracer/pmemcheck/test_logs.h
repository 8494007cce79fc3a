// Logs for tests: importing text, exporting a trace back to text, and generating both.
#ifndef POWERCUT_TRACER_PMEMCHECK_TEST_LOGS_H_
#define POWERCUT_TRACER_PMEMCHECK_TEST_LOGS_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "base/temporary_folder.h"
#include "tracer/format/test_traces.h"
#include "tracer/pmemcheck/exporter.h"
#include "tracer/pmemcheck/importer.h"

namespace powercut::pmemcheck::testing {

class Folder : public powercut::testing::TemporaryFolder {
 public:
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path()), {})); }
};

inline void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Imports the log into `folder`/trace.
inline std::variant<ImportResult, TraceError> import_text(const Folder& folder, const std::string& log) {
  write(folder.file("log"), log);
  return import_log({.log = folder.file("log"), .trace = folder.file("trace")});
}

// Returns the message of the refusal; "" when the log is accepted.
inline std::string refusal(const std::string& log) {
  const Folder folder;
  const auto done = import_text(folder, log);
  if (std::holds_alternative<ImportResult>(done)) return "";
  EXPECT_EQ(folder.files(), 1u) << "something is left beside the log";
  const std::string message = std::get<TraceError>(done).message();
  return message.substr(message.find("log"));
}

inline std::vector<powercut::testing::OwnedEvent> events_of(const std::string& trace) {
  TraceError error;
  const auto reader = TraceReader::open(trace, &error);
  EXPECT_NE(reader, nullptr) << error.message();
  std::vector<powercut::testing::OwnedEvent> events;
  Event event;
  while (reader != nullptr && reader->next(&event)) events.push_back(powercut::testing::OwnedEvent::of(event));
  return events;
}

inline std::variant<ExportResult, TraceError> export_trace(const ExportOptions& asked) {
  TraceError error;
  const auto reader = TraceReader::open(asked.trace, &error);
  if (reader == nullptr) return error;
  return export_log(asked, reader.get());
}

inline std::string exported(const Folder& folder, bool stacks = true) {
  const auto done = export_trace({.trace = folder.file("trace"), .log = folder.file("exported"), .stacks = stacks});
  if (const TraceError* error = std::get_if<TraceError>(&done)) return error->message();
  return read(folder.file("exported"));
}

}  // namespace powercut::pmemcheck::testing
#endif  // POWERCUT_TRACER_PMEMCHECK_TEST_LOGS_H_
