// Measures the parts of an explorer's time, at a few nanoseconds a reading. Readings come from the processor's time
// stamp counter. At the end, the wall clock over the whole run turns them into seconds.
#ifndef POWERCUT_REPLAYER_EXPLORER_STOPWATCH_H_
#define POWERCUT_REPLAYER_EXPLORER_STOPWATCH_H_

#include <x86intrin.h>

#include <array>
#include <chrono>
#include <cstdint>

namespace powercut {

class Stopwatch {
 public:
  enum Part : uint8_t { kFollow, kExecute, kQuery, kJudge, kUndo, kParts };
  static constexpr std::array<const char*, kParts> kNames = {"trie walk", "executions", "queries", "judging", "undo"};

  // Adds the time since the last call of lap() or start() to `part`.
  void lap(Part part) {
    const uint64_t now = __rdtsc();
    ticks_[part] += now - last_;
    last_ = now;
  }
  void start() { last_ = __rdtsc(); }
  double seconds(Part part) const {
    const auto wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count();
    const uint64_t whole = __rdtsc() - first_;
    return whole == 0 ? 0 : wall * static_cast<double>(ticks_[part]) / static_cast<double>(whole);
  }

 private:
  std::array<uint64_t, kParts> ticks_{};
  uint64_t first_ = __rdtsc(), last_ = first_;
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_STOPWATCH_H_
