#include "checker/faults/fault_replay.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tracer/format/event_groups.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

// Room beyond the value's size, so that a value that is too long shows as one.
constexpr size_t kLookupSlack = 64;
constexpr size_t kLongestValue = 65536;

powercut_bytes bytes_of(const std::string& text) { return {text.data(), text.size()}; }

}  // namespace

Result<std::vector<RecordedOperation>> operations_of(const LoadedTrace& loaded) {
  auto reader = open_trace(loaded.trace);
  if (!reader) return reader.error();
  std::vector<RecordedOperation> out;
  uint64_t marks = 0;
  Event event;
  while ((*reader)->next(&event)) {
    switch (event.kind) {
      case EventKind::kOpBegin:
        out.push_back({.kind = static_cast<OpKind>(event.code),
                       .key = text_of(event.key),
                       .value = text_of(event.value),
                       .text = std::string(event.text)});
        marks = 0;
        break;
      case EventKind::kMarker:
        ++marks;
        break;
      case EventKind::kCut:
        if (!out.empty()) out.back().marks_to_cut = marks;
        break;
      case POWERCUT_MEMORY_EVENTS:
      case EventKind::kOpEnd:
      case POWERCUT_PROCESS_EVENTS:
      case EventKind::kPhase:
      case POWERCUT_TREE_EVENTS:
      case EventKind::kContent:
        break;
    }
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  return out;
}

FaultReplay::FaultReplay(const LoadedTrace& loaded, Executor* executor)
    : loaded_(loaded),
      target_(loaded.library->target()),
      executor_(executor),
      value_(loaded.plan.scenario.data.value.most + kLookupSlack) {}

void FaultReplay::on_mark(const char*) {
  // Leaves the target's frames as a power cut would: nothing of them runs any more.
  if (marks_left_ == 0) return;
  --marks_left_;
  if (marks_left_ == 0) siglongjmp(leave_, 1);
}

FaultReplay::Done FaultReplay::run(const RecordedOperation& operation) {
  Done done;
  marks_left_ = operation.marks_to_cut;
  value_size_ = 0;
  Decisions decisions;
  // Static storage: the body may be left by a jump.
  static powercut_status status;
  static bool cut;
  status = POWERCUT_OK;
  cut = false;
  done.outcome = executor_->run(&decisions, [&] {
    if (sigsetjmp(leave_, 0) != 0) {
      cut = true;
      return;
    }
    status = call(operation);
  });
  marks_left_ = 0;
  done.status = status;
  done.cut = cut;
  if (cut) table_ = nullptr;
  if (operation.kind == OpKind::kLookup && status == POWERCUT_OK && done.outcome.returned()) {
    done.value = text_of({value_.data(), std::min(value_size_, value_.size())});
  }
  return done;
}

powercut_status FaultReplay::call(const RecordedOperation& operation) {
  const powercut_pool pool{executor_->pool_address(), executor_->pool_size()};
  switch (operation.kind) {
    case OpKind::kFormat:
      return target_.format(pool, loaded_.config->get());
    case OpKind::kOpen: {
      powercut_table* table = nullptr;
      const powercut_status status = target_.open(pool, loaded_.config->get(), &table);
      table_ = status == POWERCUT_OK ? table : nullptr;
      return status;
    }
    case OpKind::kLookup: {
      // On the stack: the target may not store to the engine's heap.
      std::array<uint8_t, kLongestValue + kLookupSlack> value;
      size_t size = 0;
      const powercut_status status =
          target_.lookup(table_, bytes_of(operation.key), value.data(), std::min(value_.size(), value.size()), &size);
      value_size_ = std::min(size, value_.size());
      std::memcpy(value_.data(), value.data(), std::min(value_size_, value.size()));
      return status;
    }
    case OpKind::kClose:
      target_.close(table_);
      table_ = nullptr;
      return POWERCUT_OK;
    case OpKind::kInsert:
    case OpKind::kUpdate:
    case OpKind::kErase:
    case OpKind::kMaintain:
    case OpKind::kIncrement:
      break;
  }
  return call_change(target_, table_, operation.kind, bytes_of(operation.key), bytes_of(operation.value),
                     operation.text.c_str());
}

}  // namespace powercut
