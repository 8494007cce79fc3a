#include "replayer/media/pool_calls.h"

namespace powercut {

Event CallEvents::event_of(EventKind kind) const {
  Event event;
  event.kind = kind;
  event.thread = call_->thread;
  event.stack = call_->stack;
  return event;
}

void CallEvents::content(std::span<const uint8_t> bytes) {
  Event event;
  event.kind = EventKind::kContent;
  event.value = bytes;
  (*emit_)(event);
}

void CallEvents::store(uint64_t at, std::span<const uint8_t> bytes, uint8_t flags) {
  Event event = event_of(EventKind::kStore);
  event.flags = flags;
  event.addr = at;
  event.size = bytes.size();
  event.value = bytes;
  (*emit_)(event);
}

void CallEvents::flush(uint64_t at, FlushKind kind) {
  Event event = event_of(EventKind::kFlush);
  event.code = static_cast<uint8_t>(kind);
  event.addr = at;
  (*emit_)(event);
}

void CallEvents::fence(FenceKind kind) {
  Event event = event_of(EventKind::kFence);
  event.code = static_cast<uint8_t>(kind);
  (*emit_)(event);
}

void CallEvents::marker(std::string_view text) {
  Event event = event_of(EventKind::kMarker);
  event.text = text;
  (*emit_)(event);
}

void CallEvents::phase(std::string_view name, bool explored) {
  if (marks_phases_) return;
  Event event;
  event.kind = EventKind::kPhase;
  event.code = explored ? 1 : 0;
  event.text = name;
  (*emit_)(event);
}

}  // namespace powercut
