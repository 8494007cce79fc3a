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

// If `fd` is a file of the device: makes the call under the session's lock, calls tell(stream, result), and returns the
// result. For every other file: returns nothing and makes no call.
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

// Records one write of `parts` that `call` makes. `offset`: none where the write goes to the file's position. `flags`:
// RWF_ of pwritev2. A caller that may be in a program without a device asks watches_device() first, because `call`
// becomes an object on the heap here.
std::optional<ssize_t> device_write(int fd, std::span<const iovec> parts, std::optional<off_t> offset, int flags,
                                    const CallSite& site, const std::function<ssize_t()>& call);
std::optional<int> device_resize(int fd, const CallSite& site, const std::function<int()>& call);
std::optional<int> device_sync(int fd, const CallSite& site, const std::function<int()>& call);
// Called before and after a file is opened.
void before_open(int folder, const char* path, int flags);
void after_open(int fd);
// As after_open(), for a file that stdio opened. The C library itself writes such a file, unseen by the recording.
void after_stream_open(FILE* file, const char* mode, const CallSite& site);
void device_mapping(int fd, void* address, size_t length, int protection, int flags);
void device_protection(void* address, size_t length, int protection);
// Makes a call by its number, if a function of this file handles the call. Returns nothing for every other call.
std::optional<long> device_system_call(long number, const long (&arguments)[6]);

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_CALLS_DEVICE_CALLS_H_
