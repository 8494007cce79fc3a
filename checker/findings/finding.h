// A finding: one wrong answer on one crash image, told in one way for every subject. A subject fills in a Finding. The
// functions here make the event of reports/EVENTS.md from it, and the key that tells one finding from another.
#ifndef POWERCUT_CHECKER_FINDINGS_FINDING_H_
#define POWERCUT_CHECKER_FINDINGS_FINDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "checker/trace/trace_follower.h"
#include "replayer/executor/image.h"

namespace powercut {

// The instant that findings are told at, and how their stores are described.
struct FindingContext {
  const TraceFollower& follower;
  AtomPolicy policy;
};

struct Finding {
  struct Operation {
    uint64_t index = 0;
    std::string kind = {};
    std::optional<std::string> key = std::nullopt;
    std::string text = {};
    bool in_flight = true;
  };
  // The question that was answered wrong.
  struct Query {
    std::string kind = {}, text = {};
    std::optional<std::string> key = std::nullopt;
    std::optional<uint64_t> region = std::nullopt;
  };
  // How an execution died, or a note that the execution did not end.
  struct Fault {
    int signal = 0;  // 0: none
    uint64_t address = 0;
    std::string text = {};
    std::vector<Frame> stack = {};
  };
  // A cut inside recovery, or right after it.
  struct Nested {
    struct Store {
      uint64_t offset = 0, size = 0;
      std::vector<Frame> stack = {};
    };
    bool after_return = false;
    std::vector<Store> stores = {};  // recovery's, before the cut
    std::vector<Image::Line> lines = {};
    Json contents = nullptr;  // of sectors that the lines name; null: nobody asks
  };
  using State = std::pair<std::string, std::string>;  // name and value

  // The finding's own part of its key: before and behind the places of the stores that decide it.
  std::string key = {}, key_end = {};
  bool stores_in_key = true;
  std::string invariant = {}, underlying = {}, message = {};
  bool needs_power_cut = true;
  Operation operation = {};
  Query query = {};
  std::vector<std::string> expected = {};
  std::string found = {};
  Json difference = nullptr;  // null: there is none to tell
  std::optional<uint64_t> nested_event = std::nullopt;
  std::optional<Fault> fault = std::nullopt;
  std::vector<Image::Line> image = {};
  std::vector<Nested> nested = {};
  std::vector<State> legal = {}, actual = {};  // contents of the table
  // The stack of the last store before the crash point; nothing where it is not told.
  std::optional<uint32_t> last_store = std::nullopt;
  // Names an operation of a schedule by its begin. Used in a tree of schedules. Null: the turns are not told.
  std::string (*operation_name)(const Event& begin) = nullptr;
};

// Returns the parts of the event that no trace of stores is needed for.
Json finding_body(const Finding& finding);
// The event. Its key is a digest: two findings with one key are one bug.
Json finding_event(const Finding& finding, const FindingContext& context);
std::string key_of(const Finding& finding, const FindingContext& context);
Json modules_event(const std::vector<TraceModule>& modules);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_FINDING_H_
