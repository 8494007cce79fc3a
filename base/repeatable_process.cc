#include "base/repeatable_process.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace powercut {

namespace {

// Set across the restart: if addresses still move after it, a second attempt would loop for ever.
constexpr const char* kRestarted = "POWERCUT_RESTARTED";
constexpr const char* kBindNow = "LD_BIND_NOW";  // ld.so(8)

bool addresses_are_fixed() {
  const int now = personality(0xFFFFFFFF);
  return now >= 0 && (now & ADDR_NO_RANDOMIZE) != 0;
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> arguments;
  for (size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) arguments.emplace_back(all.c_str() + at);
  return arguments;
}

}  // namespace

bool make_repeatable() {
  const char* bind_now = getenv(kBindNow);
  const bool bound = bind_now != nullptr && *bind_now != '\0';
  if (getenv(kRestarted) == nullptr && !(addresses_are_fixed() && bound)) {
    if (const int now = personality(0xFFFFFFFF); now >= 0) {
      personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
    }
    std::vector<std::string> arguments = own_arguments();
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    setenv(kRestarted, "1", 1);
    setenv(kBindNow, "1", 1);
    execv("/proc/self/exe", argv.data());
  }
  unsetenv(kRestarted);
  if (addresses_are_fixed()) return true;
  std::fputs(
      "powercut-engine: this system does not let a program fix its addresses (personality ADDR_NO_RANDOMIZE). Results "
      "that depend on addresses may differ between runs. In a container, run it with --security-opt "
      "seccomp=unconfined.\n",
      stderr);
  return false;
}

}  // namespace powercut
