// Records a run that the executor drives: a recorder hears what target code does, before the executor does.
#ifndef POWERCUT_TRACER_RECORD_RECORDER_TAP_H_
#define POWERCUT_TRACER_RECORD_RECORDER_TAP_H_

#include "tracer/runtime/content_listener.h"
#include "tracer/runtime/recording/recorder.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/sink_in_front.h"

namespace powercut {

class RecorderTap final : public SinkInFront {
 public:
  explicit RecorderTap(Recorder* recorder) : recorder_(recorder) {
    const auto named = [](void* self, uint64_t name, const void* bytes, size_t size) {
      QuietHeap quiet;
      static_cast<RecorderTap*>(self)->recorder_->content(name, {static_cast<const uint8_t*>(bytes), size});
    };
    powercut_hear_contents(named, this);
  }
  ~RecorderTap() override { powercut_hear_contents(nullptr, nullptr); }

 protected:
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, CodePlace place) override {
    QuietHeap quiet;
    recorder_->store(address, size, flags, value, place.pc, place.frame);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, CodePlace place) override {
    QuietHeap quiet;
    recorder_->rmw_begin(address, size, place.pc, place.frame);
  }
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, CodePlace place) override {
    QuietHeap quiet;
    recorder_->rmw_end(address, size, stored, place.pc, place.frame);
  }
  void on_flush(uint64_t address, uint32_t kind, CodePlace place) override {
    QuietHeap quiet;
    recorder_->flush(address, kind, place.pc, place.frame);
  }
  void on_fence(uint32_t kind, CodePlace place) override {
    QuietHeap quiet;
    recorder_->fence(kind, place.pc, place.frame);
  }
  void on_mark(const char* name) override {
    QuietHeap quiet;
    recorder_->mark(name);
  }

 private:
  Recorder* recorder_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_RECORDER_TAP_H_
