#include "checker/schedules/thread_work.h"

#include "absl/strings/str_cat.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"

namespace powercut {

std::string thread_name(uint32_t number, const ThreadOperation* operation) {
  if (operation == nullptr) return absl::StrCat("thread ", number, ", the table's own");
  std::string out = absl::StrCat("thread ", number, " in ", name_of(operation->kind));
  if (operation->kind != OpKind::kMaintain) return absl::StrCat(out, "(", key_name(operation->id), ")");
  return absl::StrCat(out, " '", operation->text, "'");
}

std::string not_explained(const std::string& thread, uint64_t id, powercut_status status,
                          const std::optional<std::string>& value) {
  return absl::StrCat("No order of the operations on key ", key_name(id), " explains that ", thread, " answered ",
                      status_name(status), value ? " with value " + describe_value(*value) : "", ".");
}

}  // namespace powercut
