#include "checker/oracle/wrong_step.h"

#include "checker/oracle/queries.h"

namespace powercut {
namespace {

std::string since(LastStep last) {
  switch (last) {
    case LastStep::kInserted:
      return ", inserted after recovery,";
    case LastStep::kUpdated:
      return ", updated after recovery,";
    case LastStep::kErased:
      return ", erased after recovery,";
    case LastStep::kNothing:
    case LastStep::kNeverInserted:
      break;
  }
  return "";
}

std::string wrong_lookup(powercut_status status, bool present, LastStep last) {
  const bool untouched = since(last).empty();
  if (status == POWERCUT_NOT_FOUND)
    return untouched ? " is found after recovery, and then gone" : since(last) + " is gone";
  if (present) {
    return untouched ? " has two values in two lookups after recovery" : since(last) + " has another value";
  }
  if (last == LastStep::kErased) return since(last) + " is still there";
  return last == LastStep::kNeverInserted ? " is found after recovery, and was never inserted"
                                          : " is not found after recovery, and then it is";
}

}  // namespace

std::string wrong_step(char step, powercut_status status, bool present, LastStep last) {
  if (step == 'l' && (status == POWERCUT_OK || status == POWERCUT_NOT_FOUND))
    return wrong_lookup(status, present, last);
  if (step == 'e' && status == POWERCUT_OK) return " is not found after recovery, and can be erased";
  const char* what = step == 'l' ? "looked up" : step == 'u' ? "updated" : step == 'e' ? "erased" : "inserted";
  return std::string(" cannot be ") + what + " after recovery (" + status_name(status) + ")";
}

}  // namespace powercut
