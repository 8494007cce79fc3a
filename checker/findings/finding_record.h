// A finding read back from its record (checker/RUN.md) or its event (reports/EVENTS.md): everything needed to put the
// same crash image under the same question again.
#ifndef POWERCUT_CHECKER_FINDINGS_FINDING_RECORD_H_
#define POWERCUT_CHECKER_FINDINGS_FINDING_RECORD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/models/model.h"

namespace powercut {

struct FindingRecord {
  struct Line {
    uint64_t line = 0;
    Content content;
    bool decided = false;
  };
  // A cut inside recovery, or right after it.
  struct Nested {
    bool after_return = false;
    std::vector<std::pair<uint64_t, uint64_t>> stores;  // offset and size of recovery's stores before the cut
    std::vector<Line> lines;
    std::vector<std::string> contents;  // of a device's sectors that the lines name
  };

  std::string path;
  std::string target, variant, scenario;  // empty in an event: then not compared with the trace
  std::string model = "adr", atoms = "any";
  uint64_t crash_point = 0, event = 0;
  std::string when;
  std::string query;  // "lookup(17)", as describe_query() writes queries
  std::vector<Line> image;
  std::vector<Nested> nested;
};

// Reads and checks a record. Only the trace can tell whether the record's image is legal. Fields that a replay does not
// need are ignored.
Result<FindingRecord> read_finding(const std::string& path);
Result<FindingRecord> parse_finding(const std::string& text, const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_FINDING_RECORD_H_
