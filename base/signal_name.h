#ifndef POWERCUT_BASE_SIGNAL_NAME_H_
#define POWERCUT_BASE_SIGNAL_NAME_H_

#include <csignal>
#include <cstring>
#include <string>

namespace powercut {

// "SIGSEGV"; "signal 40" where it has no name.
inline std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

}  // namespace powercut
#endif  // POWERCUT_BASE_SIGNAL_NAME_H_
