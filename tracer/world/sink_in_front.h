// A listener that stands in front of another one: it hears of each access first, and passes it on. Faults are
// added to an execution that way, without the executor knowing of them.
//
// While it lives nobody else may install a listener. Its callbacks run inside target code's guard: they may not
// allocate, except in the scope of a QuietHeap.
#ifndef POWERCUT_TRACER_WORLD_SINK_IN_FRONT_H_
#define POWERCUT_TRACER_WORLD_SINK_IN_FRONT_H_

#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/world/code_place.h"

namespace powercut {

class SinkInFront {
 public:
  SinkInFront(const SinkInFront&) = delete;
  SinkInFront& operator=(const SinkInFront&) = delete;

 protected:
  SinkInFront();
  // Puts the other listener back, which must still live.
  virtual ~SinkInFront();

  // Each is called before the other listener hears of it.
  virtual void on_load(uint64_t, uint64_t, CodePlace) {}
  virtual void on_store(uint64_t, uint64_t, uint32_t, const void*, CodePlace) {}
  virtual void on_rmw_begin(uint64_t, uint64_t, CodePlace) {}
  virtual void on_rmw_end(uint64_t, uint64_t, uint32_t, CodePlace) {}
  virtual void on_flush(uint64_t, uint32_t, CodePlace) {}
  virtual void on_fence(uint32_t, CodePlace) {}
  virtual void on_mark(const char*) {}

 private:
  // Not a lambda: its own frame must be the one that the hook called.
  static void hear_load(void* self, uint64_t address, uint64_t size);

  powercut_sink behind_{};
  powercut_sink sink_{};
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_SINK_IN_FRONT_H_
