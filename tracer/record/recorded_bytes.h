// The content that a pool must have if nothing but the recorded stores wrote to it.
//
// Stores of code that did not go through the pass are missing in the trace. Recovery would then be judged on images
// that lack these stores. The pool itself is the witness: it holds them.
#ifndef POWERCUT_TRACER_RECORD_RECORDED_BYTES_H_
#define POWERCUT_TRACER_RECORD_RECORDED_BYTES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracer/format/trace.h"
#include "tracer/record/pool.h"

namespace powercut {

class RecordedBytes {
 public:
  // `searched`: schedules of threads, if there are any, have been undone.
  RecordedBytes(uint64_t pool_size, bool searched);

  // Takes the events of the trace, in order.
  void add(const Event& event);

  // Returns an error if the pool holds other bytes. `externals`: the calls into code that was not instrumented.
  std::optional<EngineError> unrecorded(const Pool& pool, const std::string& library,
                                        const std::vector<std::string>& externals) const;

 private:
  struct Unmap {
    uint64_t size;
    void operator()(uint8_t* bytes) const;
  };
  bool any_store_ = false;
  const bool searched_;
  bool undone_ = false;  // what comes now
  // The expected content. It is mapped, so that a large pool costs only the pages that were written.
  std::unique_ptr<uint8_t[], Unmap> bytes_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_RECORDED_BYTES_H_
