#include "tracer/format/trace_rules.h"

namespace powercut {
namespace {

bool has_key(OpKind kind) {
  return kind == OpKind::kInsert || kind == OpKind::kUpdate || kind == OpKind::kErase || kind == OpKind::kLookup;
}
bool has_value(OpKind kind) { return kind == OpKind::kInsert || kind == OpKind::kUpdate; }

std::string sizes_differ(const char* what, uint64_t found, uint64_t wanted) {
  return std::string("begins an operation with a ") + what + " of " + std::to_string(found) +
         " bytes, and its plan says " + std::to_string(wanted);
}

}  // namespace

std::optional<std::string> TraceRules::wrong(const Event& event) {
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
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kMarker:
    case EventKind::kPhase:
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
  if (has_key(kind) && event.key.size() != sizes_->key) return sizes_differ("key", event.key.size(), sizes_->key);
  if (has_value(kind) && event.value.size() != sizes_->value) {
    return sizes_differ("value", event.value.size(), sizes_->value);
  }
  return std::nullopt;
}

}  // namespace powercut
