// The C library's functions that map, change and sync files, in front of the real ones: a program that was built with
// `powercut cc` is recorded from the outside, by the names of its pool files.
//
// The functions are this library's exports. The program and every library that it loads call them; the C library itself
// does not. Without a recording each function is one test and the real call.
//
// Known inaccuracy: a thread that is cancelled inside of one of these functions while a recording runs may leave the
// recording without the function's record.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <optional>

#include "base/system_call.h"
#include "tracer/runtime/calls/device_calls.h"
#include "tracer/runtime/calls/next_function.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/keep_errno.h"
#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/recording/session.h"
#include "tracer/runtime/recording/stream_trace.h"
#include "tracer/runtime/threads/scheduled_program.h"

namespace {

using powercut::runtime::announce_load;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::device_mapping;
using powercut::runtime::device_resize;
using powercut::runtime::device_sync;
using powercut::runtime::device_write;
using powercut::runtime::KeepErrno;
using powercut::runtime::settle;
using powercut::runtime::StreamTrace;
using powercut::runtime::watches_device;
using powercut::runtime::watches_pools;
using powercut::runtime::with_stream;

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

std::optional<uint32_t> touched(int fd) {
  std::optional<uint32_t> pool;
  const KeepErrno keep;
  with_stream([&](StreamTrace& stream) {
    const bool first = !stream.active();
    pool = stream.touch(fd);
    if (first && pool) powercut::runtime::note_exit_status();
  });
  if (pool) powercut::runtime::schedule_point(powercut::runtime::call_site());
  return pool;
}

// mmap does not go through dlsym: an allocator may call it before anything can be looked up.
void* map(void* address, size_t length, int protection, int flags, int fd, off_t offset) {
  settle();  // a pending store lies in memory that the mapping may replace
  const long result = powercut::system_call(SYS_mmap, address, length, protection, flags, fd, offset);
  void* const mapping = reinterpret_cast<void*>(result);
  if (mapping == MAP_FAILED || !watches_pools()) return mapping;
  const bool file = (flags & MAP_ANONYMOUS) == 0;
  if (!file && (flags & MAP_FIXED) == 0) return mapping;
  const KeepErrno keep;
  const int opened = file ? fd : -1;
  const bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
  if (watches_device()) {
    with_stream([&](StreamTrace& stream) { stream.unmapped(number(mapping), length); });
    if (file) device_mapping(opened, mapping, length, protection, flags);
    return mapping;
  }
  if (file) touched(opened);
  with_stream([&](StreamTrace& stream) {
    stream.mapped(opened, number(mapping), length, static_cast<uint64_t>(offset), shared);
  });
  return mapping;
}

template <typename Write>
ssize_t write_file(int fd, std::optional<off_t> offset, const void* bytes, size_t size, const CallSite& site,
                   const Write& write) {
  if (watches_device()) {
    const iovec all = {const_cast<void*>(bytes), size};
    const auto done = device_write(fd, {&all, 1}, offset, 0, site, write);
    return done ? *done : write();
  }
  const std::optional<uint32_t> pool = watches_pools() ? touched(fd) : std::nullopt;
  const ssize_t done = write();
  if (!pool || done <= 0) return done;
  const KeepErrno keep;
  // With O_APPEND, too, the file's position is behind the written bytes.
  const off_t from = offset ? *offset : lseek(fd, 0, SEEK_CUR) - done;
  with_stream([&](StreamTrace& stream) {
    stream.written(*pool, fd, static_cast<uint64_t>(from), bytes, static_cast<uint64_t>(done), site);
  });
  return done;
}

template <typename Change>
int change_size(int fd, const CallSite& site, const Change& change) {
  if (watches_device()) {
    const auto done = device_resize(fd, site, change);
    return done ? *done : change();
  }
  const std::optional<uint32_t> pool = watches_pools() ? touched(fd) : std::nullopt;
  const int result = change();
  if (!pool || result != 0) return result;
  const KeepErrno keep;
  with_stream([&](StreamTrace& stream) { stream.resized(*pool, fd); });
  return result;
}

template <typename Sync>
int sync_file(int fd, const CallSite& site, const Sync& sync) {
  if (watches_device()) {
    const auto done = device_sync(fd, site, sync);
    return done ? *done : sync();
  }
  const std::optional<uint32_t> pool = watches_pools() ? touched(fd) : std::nullopt;
  const int result = sync();
  if (!pool || result != 0) return result;
  const KeepErrno keep;
  with_stream([&](StreamTrace& stream) { stream.synced(*pool, kPowercutFsync, 0, UINT64_MAX, site); });
  return result;
}

}  // namespace

extern "C" {

void* mmap(void* address, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  return map(address, length, protection, flags, fd, offset);
}

void* mmap64(void* address, size_t length, int protection, int flags, int fd, off64_t offset) noexcept {
  return map(address, length, protection, flags, fd, offset);
}

int munmap(void* address, size_t length) noexcept {
  settle();
  // The stream is told before the call: another thread may get the same addresses at once.
  if (watches_pools()) {
    with_stream([&](StreamTrace& stream) {
      stream.unmaps(number(address), length);
      stream.unmapped(number(address), length);
    });
  }
  return static_cast<int>(powercut::system_call(SYS_munmap, address, length));
}

void* mremap(void* from, size_t old_length, size_t new_length, int flags, ...) noexcept {
  settle();
  va_list rest;
  va_start(rest, flags);
  void* const wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  void* const to =
      reinterpret_cast<void*>(powercut::system_call(SYS_mremap, from, old_length, new_length, flags, wanted));
  if (to == MAP_FAILED || !watches_pools()) return to;
  const KeepErrno keep;
  with_stream([&](StreamTrace& stream) { stream.moved(number(from), old_length, number(to), new_length); });
  return to;
}

// The function stands here only because a pending store is read back, which the new protection may forbid.
int mprotect(void* address, size_t length, int protection) noexcept {
  settle();
  const long result = powercut::system_call(SYS_mprotect, address, length, protection);
  if (result == 0) powercut::runtime::device_protection(address, length, protection);
  return static_cast<int>(result);
}

int msync(void* address, size_t length, int flags) {
  const CallSite site = call_site();
  powercut::runtime::schedule_point(site);
  const int result = NEXT(msync)(address, length, flags);
  if (result != 0 || (flags & MS_SYNC) == 0 || !watches_pools()) return result;
  const KeepErrno keep;
  with_stream([&](StreamTrace& stream) { stream.synced_memory(number(address), length, site); });
  return result;
}

int fsync(int fd) {
  return sync_file(fd, call_site(), [&] { return NEXT(fsync)(fd); });
}

int fdatasync(int fd) {
  return sync_file(fd, call_site(), [&] { return NEXT(fdatasync)(fd); });
}

ssize_t write(int fd, const void* bytes, size_t size) {
  bytes = announce_load(bytes, size);
  return write_file(fd, std::nullopt, bytes, size, call_site(), [&] { return NEXT(write)(fd, bytes, size); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  bytes = announce_load(bytes, size);
  return write_file(fd, offset, bytes, size, call_site(), [&] { return NEXT(pwrite)(fd, bytes, size, offset); });
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  bytes = announce_load(bytes, size);
  return write_file(fd, offset, bytes, size, call_site(), [&] { return NEXT(pwrite64)(fd, bytes, size, offset); });
}

int ftruncate(int fd, off_t size) noexcept {
  return change_size(fd, call_site(), [&] { return static_cast<int>(powercut::system_call(SYS_ftruncate, fd, size)); });
}

int ftruncate64(int fd, off64_t size) noexcept {
  return change_size(fd, call_site(), [&] { return static_cast<int>(powercut::system_call(SYS_ftruncate, fd, size)); });
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  return change_size(fd, call_site(), [&] { return NEXT(posix_fallocate)(fd, offset, size); });
}

void _exit(int status) {
  if (watches_pools()) powercut::runtime::end_at_once(status);
  powercut::system_call(SYS_exit_group, status);
  __builtin_unreachable();
}

void _Exit(int status) { _exit(status); }

}  // extern "C"
