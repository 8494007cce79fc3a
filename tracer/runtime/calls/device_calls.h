// Room calls: functions in front of the C library's that map, read, write and sync files, or store through a pointer.
//
// This file: system calls on the file that is recorded as a block device, for the functions of the other files.
#ifndef POWERCUT_TRACER_RUNTIME_CALLS_DEVICE_CALLS_H_
#define POWERCUT_TRACER_RUNTIME_CALLS_DEVICE_CALLS_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/recording/session.h"
#include "tracer/runtime/recording/stream_trace.h"

namespace powercut::runtime {

// Makes the call if `fd` is a file of the device, under the session's lock, and then tells of it: tell(stream, result).
// Nothing, and no call, for every other file.
template <typename Call, typename Tell>
auto on_device(int fd, const Call& call, const Tell& tell) -> std::optional<decltype(call())> {
  std::optional<decltype(call())> result;
  if (!watches_device()) return result;
  int error = errno;
  with_stream([&](StreamTrace& stream) {
    const bool first = !stream.active();
    if (!stream.touch_device(fd)) return;
    if (first) note_exit_status();
    result = call();
    error = errno;
    tell(stream, *result);
  });
  errno = error;
  return result;
}

// One write of `parts` by `call`; `offset`: none where it is the file's position. `flags`: RWF_ of pwritev2. A caller
// that may be in a program without a device asks watches_device() first: `call` becomes an object on the heap here.
std::optional<ssize_t> device_write(int fd, std::span<const iovec> parts, std::optional<off_t> offset, int flags,
                                    const CallSite& site, const std::function<ssize_t()>& call);
std::optional<int> device_resize(int fd, const CallSite& site, const std::function<int()>& call);
std::optional<int> device_sync(int fd, const CallSite& site, const std::function<int()>& call);
// Before and after a file is opened.
void before_open(int folder, const char* path, int flags);
void after_open(int fd);
// The same of one by stdio. What is written there the C library writes itself, unseen.
void after_stream_open(FILE* file, const char* mode, const CallSite& site);
void device_mapping(int fd, void* address, size_t length, int protection, int flags);
void device_protection(void* address, size_t length, int protection);
// A call by its number, where it is one of those here. Nothing for every other.
std::optional<long> device_system_call(long number, const long (&arguments)[6]);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_CALLS_DEVICE_CALLS_H_
