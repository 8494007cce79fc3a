#include "tracer/format/trace_rules.h"

#include "tracer/format/event_groups.h"

namespace powercut {
namespace {

bool has_value(OpKind kind) { return kind == OpKind::kInsert || kind == OpKind::kUpdate || kind == OpKind::kIncrement; }

std::string sizes_differ(const char* what, uint64_t found, SizeRange wanted) {
  return std::string("begins an operation with a ") + what + " of " + std::to_string(found) +
         " bytes, and its plan says " + wanted.text();
}

}  // namespace

std::optional<std::string> TraceRules::wrong(const Event& event) {
  if (auto problem = wrong_in_tree(event)) return problem;
  return wrong_alone(event);
}

// Goes back with the operations as well: a schedule begins where another one of the tree has been.
std::optional<std::string> TraceRules::wrong_in_tree(const Event& event) {
  switch (event.kind) {
    case EventKind::kFork:
      if (path_) return "begins a tree of schedules within another one";
      at_root_ = running_;
      path_.emplace();
      return std::nullopt;
    case EventKind::kBack:
      if (!path_ || event.size > path_->size()) return "goes back to an event that is not there";
      path_->resize(event.size);
      running_ = at_root_;
      for (const Step& step : *path_) {
        if (step.kind == EventKind::kOpBegin) running_[step.thread] = static_cast<OpKind>(step.code);
        if (step.kind == EventKind::kOpEnd) running_.erase(step.thread);
        if (step.kind == EventKind::kCut) running_.clear();
      }
      return std::nullopt;
    case EventKind::kCrashPoint:
    case EventKind::kTrouble:
    case EventKind::kSearched:
      return path_ ? std::nullopt : std::optional<std::string>("stands outside of a tree of schedules");
    case POWERCUT_MEMORY_EVENTS:
    case POWERCUT_OPERATION_EVENTS:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_NAME_EVENTS:
    case EventKind::kCut:
    case EventKind::kContent:
      break;
  }
  if (path_) path_->push_back({event.kind, event.thread, event.code});
  return std::nullopt;
}

std::optional<std::string> TraceRules::wrong_alone(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return outside(event, "stores", event.size);
    case EventKind::kFlush:
      return outside(event, "flushes", 1);
    case EventKind::kAllocate:
      return outside(event, "allocates", event.size);
    case EventKind::kFree:
      return outside(event, "frees", 1);
    case EventKind::kOpBegin:
    case EventKind::kOpEnd:
      return sizes_ ? wrong_operation(event) : std::nullopt;
    case EventKind::kCut:
      running_.clear();  // what runs then never ends
      return std::nullopt;
    case EventKind::kFence:
    case EventKind::kContent:
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case POWERCUT_NAME_EVENTS:
    case POWERCUT_TREE_EVENTS:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> TraceRules::outside(const Event& event, const char* what, uint64_t size) const {
  // In this order nothing wraps around.
  if (size <= space_ && event.addr <= space_ - size) return std::nullopt;
  return std::string(what) + " " + std::to_string(size) + " byte(s) at offset " + std::to_string(event.addr) +
         ", outside of the pool of " + std::to_string(space_) + " bytes";
}

std::optional<std::string> TraceRules::wrong_operation(const Event& event) {
  if (event.kind == EventKind::kOpEnd) {
    if (running_.erase(event.thread) == 0) return "ends an operation that did not begin";
    return std::nullopt;
  }
  const auto kind = static_cast<OpKind>(event.code);
  if (!running_.try_emplace(event.thread, kind).second) return "begins an operation within another one";
  if (has_key(kind) && !sizes_->key.has(event.key.size())) return sizes_differ("key", event.key.size(), sizes_->key);
  if (has_value(kind) && !sizes_->value.has(event.value.size())) {
    return sizes_differ("value", event.value.size(), sizes_->value);
  }
  return std::nullopt;
}

}  // namespace powercut
