// An event with bytes of its own, which outlives the reader's next event.
#ifndef POWERCUT_TRACER_FORMAT_KEPT_EVENT_H_
#define POWERCUT_TRACER_FORMAT_KEPT_EVENT_H_

#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "tracer/format/trace.h"

namespace powercut {

class KeptEvent {
 public:
  KeptEvent() = default;
  explicit KeptEvent(const Event& event)
      : event_(event),
        value_(event.value.begin(), event.value.end()),
        key_(event.key.begin(), event.key.end()),
        text_(event.text) {}

  // Returns the event; the spans are valid until the KeptEvent is changed or moved.
  Event view() const {
    Event out = event_;
    out.value = value_;
    out.key = key_;
    out.text = text_;
    return out;
  }

 private:
  Event event_;  // its spans are never looked at
  absl::InlinedVector<uint8_t, 16> value_, key_;
  std::string text_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_KEPT_EVENT_H_
