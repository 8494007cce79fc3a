#include "tracer/stream/module_stacks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

namespace powercut {
namespace {

// Without links, so that the same library has the same name in every trace. Pin's run-time library need not have
// realpath.
std::string canonical(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return path;
  char link[64], target[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, target, sizeof target);
  close(file);
  return length > 0 && target[0] == '/' ? std::string(target, static_cast<size_t>(length)) : path;
}

}  // namespace

void ModuleStacks::load(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias) {
  if (begin >= end) return;
  unload(begin, end);
  const std::string name = canonical(path);
  const auto at = modules_.find(name);
  const uint32_t module = at != modules_.end() ? at->second : static_cast<uint32_t>(modules_.size());
  if (at == modules_.end()) {
    modules_[name] = module;
    powercut_stream_module(stream_, name.c_str());
  }
  ranges_[begin] = Range{end, bias, module};
}

void ModuleStacks::unload(uint64_t begin, uint64_t end) {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    if (at->second.end > begin) {
      at = ranges_.erase(at);
    } else {
      ++at;
    }
  }
  known_.clear();
}

uint32_t ModuleStacks::number(const uint64_t* addresses, uint32_t count) {
  const std::vector<uint64_t> key(addresses, addresses + count);
  const auto at = known_.find(key);
  if (at != known_.end()) return at->second;
  powercut_stream_frame frames[kPowercutMostFrames];
  uint32_t used = 0;
  for (uint32_t i = 0; i < count && used < kPowercutMostFrames; ++i) {
    // A return address can be the first byte after a function that does not return, so the call counts.
    auto range = ranges_.upper_bound(addresses[i] - 1);
    if (range == ranges_.begin()) continue;
    --range;
    if (addresses[i] - 1 >= range->second.end) continue;
    frames[used++] = powercut_stream_frame{range->second.module, addresses[i] - range->second.bias};
  }
  uint32_t number = 0;
  if (used != 0) {
    powercut_stream_stack(stream_, frames, used);
    number = ++stacks_;
  }
  known_[key] = number;
  return number;
}

}  // namespace powercut
