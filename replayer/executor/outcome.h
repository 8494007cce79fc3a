// How an execution of target code ended.
#ifndef POWERCUT_REPLAYER_EXECUTOR_OUTCOME_H_
#define POWERCUT_REPLAYER_EXECUTOR_OUTCOME_H_

#include <cstdint>
#include <string>
#include <vector>

namespace powercut {

struct Outcome {
  enum class Kind : uint8_t {
    kReturned,
    kSignal,
    kAbort,
    kException,
    kSteps,  // its state repeats: it would never end
    kWildStore,
    kUnknown  // powercut cannot follow the execution (`text`): neither good nor a finding
  };
  Kind kind = Kind::kReturned;
  int signal = 0;
  uint64_t address = 0;         // faulting or wild address
  std::string text;             // exception or assertion text; kUnknown: the reason
  std::vector<uint64_t> stack;  // return addresses, innermost first
  bool returned() const { return kind == Kind::kReturned; }
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_OUTCOME_H_
