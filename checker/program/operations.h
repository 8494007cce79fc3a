// The marked operations of a program trace (powercut/mark.h), of all its threads, up to an instant.
#ifndef POWERCUT_CHECKER_PROGRAM_OPERATIONS_H_
#define POWERCUT_CHECKER_PROGRAM_OPERATIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut {

struct MarkedOperation {
  uint64_t index = 0;  // by beginning
  OpKind kind{};
  std::string key;  // bytes
  std::string text;
  uint32_t thread = 0;
};

class Operations {
 public:
  void apply(const Event& event);

  uint64_t begun() const { return begun_; }
  // In the order in which they began.
  const std::vector<MarkedOperation>& in_flight() const { return in_flight_; }
  // The one in flight that began last, else the one that ended last.
  const std::optional<MarkedOperation>& current() const { return current_; }
  // The operation whose end left none in flight, the last time that this happened since a power cut of the scenario.
  std::optional<uint64_t> settled_by() const { return settled_by_; }
  // How many began since nothing was in flight the last time.
  uint64_t begun_since_settled() const { return begun_since_settled_; }
  // A power cut of the scenario took the end of an operation, and none has ended since: what holds is not known.
  bool unsettled() const { return unsettled_; }

 private:
  std::vector<MarkedOperation> in_flight_;
  std::optional<MarkedOperation> current_;
  std::optional<uint64_t> settled_by_;
  uint64_t begun_ = 0, begun_since_settled_ = 0;
  bool unsettled_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_OPERATIONS_H_
