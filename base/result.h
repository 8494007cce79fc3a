// A value or the error that stands in its place. Errors carry what went wrong, where, and the next
// step of the user; `kind` decides the exit code.
#ifndef POWERCUT_BASE_RESULT_H_
#define POWERCUT_BASE_RESULT_H_

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace powercut {

enum class ErrorKind {
  kUsage,    // the user can put it right: exit 2
  kHarness,  // powercut or the target broke outside of what is judged: exit 3, verdict unknown
};

inline constexpr int kExitOk = 0, kExitFindings = 1, kExitUsage = 2, kExitUnknown = 3;

struct EngineError {
  ErrorKind kind = ErrorKind::kUsage;
  std::string what, where, next;
  // Abilities that the scenario needs and this target lacks, if nothing else is wrong: "update", "keys of 8 bytes".
  std::string needs = {};

  std::string message() const { return where + ": " + what + ". " + next; }
  int exit_code() const { return kind == ErrorKind::kUsage ? kExitUsage : kExitUnknown; }
};

inline EngineError usage_error(std::string what, std::string where, std::string next) {
  return {ErrorKind::kUsage, std::move(what), std::move(where), std::move(next)};
}
inline EngineError harness_error(std::string what, std::string where, std::string next) {
  return {ErrorKind::kHarness, std::move(what), std::move(where), std::move(next)};
}
// For errors of rooms that know no exit codes, such as TraceError.
template <typename Error>
EngineError usage_error(const Error& error) {
  return usage_error(error.what, error.where, error.next);
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(EngineError error) : held_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Precondition: ok().
  T& operator*() { return value(); }
  const T& operator*() const { return const_cast<Result*>(this)->value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &**this; }
  // Precondition: !ok().
  const EngineError& error() const {
    assert(!ok());
    return std::get<1>(held_);
  }

 private:
  T& value() {
    assert(ok());
    return std::get<0>(held_);
  }
  std::variant<T, EngineError> held_;
};

}  // namespace powercut
#endif  // POWERCUT_BASE_RESULT_H_
