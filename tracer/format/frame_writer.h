// The back half of a TraceWriter: frames leave for the file on a thread of their own, while the front half fills
// the next one.
//
// Back-pressure: at most kBuffers frames exist, so memory does not depend on the trace; when all are full the front
// half waits. The file's bytes depend on the frames and their order alone, never on timing. The thread lives in foreign
// programs, whose malloc may be code that is traced, and whose signal handlers may store to the pool: it allocates
// nothing, takes no signals and calls nothing but zstd, xxHash and the kernel.
#ifndef POWERCUT_TRACER_FORMAT_FRAME_WRITER_H_
#define POWERCUT_TRACER_FORMAT_FRAME_WRITER_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "tracer/format/layout.h"

namespace powercut {

class FrameWriter {
 public:
  // The largest raw payload: a frame that is nearly at its target, and the largest record.
  static constexpr size_t kCapacity = layout::kFrameTarget + layout::kMaxRecord;
  static_assert(kCapacity <= layout::kMaxFrameRaw);

  struct Problem {
    const char* what = nullptr;  // null: none; what was tried
    int error = 0;               // errno, 0 for zstd
  };
  struct Totals {
    uint64_t frames = 0, records = 0, raw_bytes = 0, chain = 0, written = 0;
  };

  // `fd` outlives the writer and stands where the first frame begins. Throws std::system_error when the machine
  // gives no thread.
  explicit FrameWriter(int fd);
  // Drops the frames that were not written yet.
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // For the front half, one thread at a time: the kCapacity bytes to fill next.
  uint8_t* buffer() { return frames_[head_].bytes.get(); }
  // Hands over the first `size` bytes of buffer() and waits until another buffer is free.
  void submit(size_t size, uint32_t records, uint64_t first_event);
  // True once a write or a compression has failed: nothing is written any more.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  // Waits until everything is written and ends the thread. Nothing may be submitted afterwards.
  void finish();

  // Precondition of both: finish() has returned.
  const Problem& problem() const { return problem_; }
  const Totals& totals() const { return totals_; }

  // Writes all of `bytes`; returns 0, or errno.
  static int write_all(int fd, std::span<const uint8_t> bytes);

 private:
  static constexpr size_t kBuffers = 8;

  struct Frame {
    std::unique_ptr<uint8_t[]> bytes;
    size_t size = 0;
    uint32_t records = 0;
    uint64_t first_event = 0;
  };

  void run();
  void write(const Frame& frame);
  void fail(const char* what, int error);
  void stop(bool drop);

  const int fd_;
  std::array<Frame, kBuffers> frames_;
  size_t head_ = 0;  // the front half fills this one; invariant: it is not among the full ones
  size_t tail_ = 0;  // the oldest full frame

  std::mutex mutex_;
  std::condition_variable more_, room_;
  // Under mutex_.
  size_t full_ = 0;
  bool closing_ = false, dropping_ = false;

  std::atomic<bool> failed_ = false;
  // The thread's alone until it ended.
  std::vector<uint8_t> workspace_, compressed_;
  void* context_ = nullptr;
  Problem problem_;
  Totals totals_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_FRAME_WRITER_H_
