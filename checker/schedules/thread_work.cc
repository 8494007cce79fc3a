#include "checker/schedules/thread_work.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"

namespace powercut {

powercut_status call_operation(const ThreadWork& work, const ThreadOperation& operation, std::span<uint8_t> answer,
                               size_t* size) {
  const powercut_bytes key{operation.key.data(), operation.key.size()};
  const powercut_bytes value{operation.value.data(), operation.value.size()};
  if (operation.kind != OpKind::kLookup) {
    *size = 0;
    return call_change(*work.target, work.table, operation.kind, key, value, operation.text.c_str());
  }
  const powercut_status status = work.target->lookup(work.table, key, answer.data(), answer.size(), size);
  *size = status == POWERCUT_OK ? std::min(*size, answer.size()) : 0;
  return status;
}

Event begin_of(const ThreadOperation& operation, uint32_t number) {
  Event event;
  event.kind = EventKind::kOpBegin;
  event.code = static_cast<uint8_t>(operation.kind);
  event.thread = number;
  event.key = operation.key;
  event.value = operation.value;
  event.text = operation.text;
  return event;
}

Event end_of(powercut_status status, std::span<const uint8_t> answer, uint32_t number) {
  Event event;
  event.kind = EventKind::kOpEnd;
  event.code = static_cast<uint8_t>(status);
  event.thread = number;
  event.value = answer;
  return event;
}

std::string thread_name(uint32_t number, const ThreadOperation* operation) {
  if (operation == nullptr) return absl::StrCat("thread ", number, ", the table's own");
  std::string out = absl::StrCat("thread ", number, " in ", name_of(operation->kind));
  if (operation->kind != OpKind::kMaintain) return absl::StrCat(out, "(", key_name(operation->id), ")");
  return absl::StrCat(out, " '", operation->text, "'");
}

std::string need_of(const ThreadOperation& operation) {
  if (operation.kind != OpKind::kMaintain) return name_of(operation.kind);
  return absl::StrCat("maintain '", operation.text, "'");
}

std::string not_supported(const std::string& thread) {
  return absl::StrCat(thread, " answered UNSUPPORTED, so what the scenario asks for did not happen");
}

std::string not_explained(const std::string& thread, uint64_t id, powercut_status status,
                          const std::optional<std::string>& value) {
  return absl::StrCat("No order of the operations on key ", key_name(id), " explains that ", thread, " answered ",
                      status_name(status), value ? " with value " + describe_value(*value) : "", ".");
}

}  // namespace powercut
