#include "tracer/world/sink_in_front.h"

namespace powercut {

// Loads come without a place. This frame's own caller is the hook, or the target where the hook ends in a jump.
void SinkInFront::hear_load(void* self, uint64_t address, uint64_t size) {
  auto* front = static_cast<SinkInFront*>(self);
  front->on_load(address, size, {__builtin_return_address(0), *static_cast<void* const*>(__builtin_frame_address(0))});
  front->behind_.load(front->behind_.self, address, size);
}

SinkInFront::SinkInFront() {
  powercut_get_sink(&behind_);
  sink_.self = this;
  sink_.load = hear_load;
  sink_.store = [](void* self, uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc,
                   const void* frame) {
    auto* front = static_cast<SinkInFront*>(self);
    front->on_store(address, size, flags, value, {pc, frame});
    front->behind_.store(front->behind_.self, address, size, flags, value, pc, frame);
  };
  sink_.rmw_begin = [](void* self, uint64_t address, uint64_t size, const void* pc, const void* frame) {
    auto* front = static_cast<SinkInFront*>(self);
    front->on_rmw_begin(address, size, {pc, frame});
    front->behind_.rmw_begin(front->behind_.self, address, size, pc, frame);
  };
  sink_.rmw_end = [](void* self, uint64_t address, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
    auto* front = static_cast<SinkInFront*>(self);
    front->on_rmw_end(address, size, stored, {pc, frame});
    front->behind_.rmw_end(front->behind_.self, address, size, stored, pc, frame);
  };
  sink_.flush = [](void* self, uint64_t address, uint32_t kind, const void* pc, const void* frame) {
    auto* front = static_cast<SinkInFront*>(self);
    front->on_flush(address, kind, {pc, frame});
    front->behind_.flush(front->behind_.self, address, kind, pc, frame);
  };
  sink_.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
    auto* front = static_cast<SinkInFront*>(self);
    front->on_fence(kind, {pc, frame});
    front->behind_.fence(front->behind_.self, kind, pc, frame);
  };
  sink_.out_of_steps = [](void* self, const uint64_t* live) {
    auto* front = static_cast<SinkInFront*>(self);
    front->behind_.out_of_steps(front->behind_.self, live);
  };
  sink_.mark = [](void* self, const char* name) {
    auto* front = static_cast<SinkInFront*>(self);
    front->behind_.mark(front->behind_.self, name);
    front->on_mark(name);
  };
  powercut_set_sink(&sink_);
}

SinkInFront::~SinkInFront() { powercut_set_sink(&behind_); }

}  // namespace powercut
