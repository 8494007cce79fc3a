#ifndef POWERCUT_BASE_CLOCK_H_
#define POWERCUT_BASE_CLOCK_H_

#include <chrono>

namespace powercut {

// Seconds since some instant, which the machine's time of day does not change.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace powercut
#endif  // POWERCUT_BASE_CLOCK_H_
