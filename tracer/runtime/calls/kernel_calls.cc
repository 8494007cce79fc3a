// The C library's functions that hand memory to the kernel, in front of the real ones: a read(2) into a pool is a store
// of the bytes that came, in no order within the store.
//
// Under an engine that watches the pool (hooks.h, powercut_alias) the kernel does not fault on the pool but answers
// EFAULT. Nobody announces the bytes that the kernel writes. Buffers in the pool are therefore announced here, and the
// real call works beside the pool. A call that cannot be announced ends the execution. In a program that is recorded
// the real call works on the pool itself, and the bytes that came are announced afterwards.
//
// Known inaccuracies: calls of the kernel that are not listed here answer EFAULT for a watched pool. In a recorded
// program stored_results.cc has some of these calls, and unseen_stores.h notices the changes that the others leave.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "base/system_call.h"
#include "tracer/runtime/calls/device_calls.h"
#include "tracer/runtime/calls/next_function.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/recording/session.h"
#include "tracer/runtime/threads/futex_step.h"
#include "tracer/runtime/threads/lock_step.h"
#include "tracer/runtime/watch_hooks.h"

using powercut::runtime::announce_load;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::place_of;

namespace {

bool watched() { return __powercut_alias.span != 0; }

template <typename T>
bool in_pool(T* address) {
  return place_of(address) != address;
}

// `read(buffer)` fills a buffer beside the pool, and the bytes that came are stored to the pool. Nothing is read ahead:
// the listener hears of the store before it is made.
template <typename Read>
ssize_t read_aside(void* target, size_t size, const CallSite& site, const Read& read) {
  void* buffer = malloc(size == 0 ? 1 : size);
  if (buffer == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  const ssize_t came = read(buffer);
  const int error = errno;
  if (came > 0) {
    const auto length = static_cast<size_t>(came);
    memcpy(announce_store(target, length, POWERCUT_STORE_MEMCALL, buffer, site), buffer, length);
  }
  free(buffer);
  errno = error;
  return came;
}

// Announces that `done` bytes are at `to` now, in a program that is recorded.
ssize_t recorded(void* to, ssize_t done, const CallSite& site) {
  if (done > 0 && powercut::runtime::watches_pools()) {
    const int error = errno;
    announce_store(to, static_cast<uint64_t>(done), POWERCUT_STORE_MEMCALL, to, site);
    errno = error;
  }
  return done;
}

ssize_t recorded(const iovec* parts, int count, ssize_t done, const CallSite& site) {
  ssize_t left = done;
  for (int i = 0; i < count && left > 0; ++i) {
    const ssize_t piece = std::min(left, static_cast<ssize_t>(parts[i].iov_len));
    recorded(parts[i].iov_base, piece, site);
    left -= piece;
  }
  return done;
}

template <typename Read>
ssize_t read_to(void* target, size_t size, const CallSite& site, const Read& read) {
  return in_pool(target) ? read_aside(target, size, site, read) : recorded(target, read(target), site);
}

void cannot_follow(const char* what, const CallSite& site) {
  if (__powercut_watch.cannot_follow != nullptr) __powercut_watch.cannot_follow(what, site.pc, site.frame);
}

// Fills one buffer after the other, until one is not filled whole. Returns how many bytes were read.
template <typename Each>
ssize_t one_by_one(const iovec* parts, int count, const Each& each) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t done = each(parts[i]);
    if (done < 0) return sum > 0 ? sum : done;
    sum += done;
    if (static_cast<size_t>(done) < parts[i].iov_len) break;
  }
  return sum;
}

bool any_in_pool(const iovec* parts, int count) {
  for (int i = 0; watched() && i < count; ++i) {
    if (in_pool(parts[i].iov_base)) return true;
  }
  return false;
}

// Returns whether the file is the memory of a process: nobody sees the bytes that are written there.
bool is_memory_file(const char* path) {
  if (!watched() || path == nullptr) return false;
  const char* at = place_of(path);
  const size_t length = strlen(at);
  return strncmp(at, "/proc/", 6) == 0 && length > 10 && strcmp(at + length - 4, "/mem") == 0;
}

// Opens a file, which may be the recording's device.
template <typename Open>
int opened(int folder, const char* path, int flags, const Open& open) {
  powercut::runtime::before_open(folder, path, flags);
  const int fd = open();
  powercut::runtime::after_open(fd);
  return fd;
}

template <typename Open>
FILE* opened(const char* path, const char* mode, const CallSite& site, const Open& open) {
  powercut::runtime::before_open(AT_FDCWD, path, strchr(mode, 'w') != nullptr ? O_TRUNC : 0);
  FILE* const file = open();
  powercut::runtime::after_stream_open(file, mode, site);
  return file;
}

// Returns how many arguments a call of syscall(2) has: the words behind them are whatever the registers held.
size_t arguments_of(long number) {
  switch (number) {
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getppid:
    case SYS_getuid:
    case SYS_sched_yield:
    case SYS_pause:
      return 0;
    case SYS_exit:
    case SYS_exit_group:
    case SYS_close:
    case SYS_fsync:
    case SYS_fdatasync:
      return 1;
    case SYS_clock_gettime:
    case SYS_kill:
      return 2;
    case SYS_getcpu:
    case SYS_getrandom:
    case SYS_membarrier:
    case SYS_tgkill:
      return 3;
    case SYS_rt_tgsigqueueinfo:
      return 4;
    default:
      return 6;
  }
}

constexpr const char* kMemoryFile = "target code opens the memory of a process as a file (/proc/.../mem)";

}  // namespace

extern "C" {

ssize_t read(int fd, void* buffer, size_t size) {
  return read_to(buffer, size, call_site(), [&](void* to) { return NEXT(read)(fd, to, size); });
}

ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  return read_to(buffer, size, call_site(), [&](void* to) { return NEXT(pread)(fd, to, size, offset); });
}

ssize_t pread64(int fd, void* buffer, size_t size, off64_t offset) {
  return read_to(buffer, size, call_site(), [&](void* to) { return NEXT(pread64)(fd, to, size, offset); });
}

ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  return read_to(buffer, size, call_site(), [&](void* to) { return NEXT(recv)(fd, to, size, flags); });
}

ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  return NEXT(send)(fd, in_pool(buffer) ? announce_load(buffer, size) : buffer, size, flags);
}

ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  return read_to(buffer, size, call_site(), [&](void* to) { return NEXT(getrandom)(to, size, flags); });
}

ssize_t readv(int fd, const iovec* parts, int count) {
  const CallSite site = call_site();
  if (!any_in_pool(parts, count)) return recorded(parts, count, NEXT(readv)(fd, parts, count), site);
  return one_by_one(parts, count, [&](const iovec& part) {
    return read_to(part.iov_base, part.iov_len, site, [&](void* to) { return NEXT(read)(fd, to, part.iov_len); });
  });
}

ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  const CallSite site = call_site();
  if (!any_in_pool(parts, count)) return recorded(parts, count, NEXT(preadv)(fd, parts, count, offset), site);
  return one_by_one(parts, count, [&](const iovec& part) {
    const ssize_t done =
        read_to(part.iov_base, part.iov_len, site, [&](void* to) { return NEXT(pread)(fd, to, part.iov_len, offset); });
    offset += std::max<ssize_t>(done, 0);
    return done;
  });
}

ssize_t preadv64(int fd, const iovec* parts, int count, off64_t offset) { return preadv(fd, parts, count, offset); }

ssize_t writev(int fd, const iovec* parts, int count) {
  if (!any_in_pool(parts, count)) {
    const auto call = [&] { return NEXT(writev)(fd, parts, count); };
    if (!powercut::runtime::watches_device()) return call();
    const std::span<const iovec> all(parts, static_cast<size_t>(std::max(count, 0)));
    const auto done = powercut::runtime::device_write(fd, all, std::nullopt, 0, call_site(), call);
    return done ? *done : call();
  }
  return one_by_one(parts, count, [&](const iovec& part) {
    return NEXT(write)(fd, announce_load(part.iov_base, part.iov_len), part.iov_len);
  });
}

size_t fread(void* buffer, size_t size, size_t count, FILE* file) {
  if (size == 0) return NEXT(fread)(buffer, size, count, file);
  if (!in_pool(buffer)) {
    const size_t done = NEXT(fread)(buffer, size, count, file);
    // A part of an item may have come as well; bytes that did not come are unchanged.
    recorded(buffer, static_cast<ssize_t>(std::min(done + 1, count) * size), call_site());
    return done;
  }
  size_t items = 0;
  read_aside(buffer, size * count, call_site(), [&](void* to) {
    items = NEXT(fread)(to, size, count, file);
    return static_cast<ssize_t>(items * size);
  });
  return items;
}

size_t fwrite(const void* buffer, size_t size, size_t count, FILE* file) {
  return NEXT(fwrite)(in_pool(buffer) ? announce_load(buffer, size * count) : buffer, size, count, file);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (is_memory_file(path)) cannot_follow(kMemoryFile, call_site());
  return opened(AT_FDCWD, path, flags, [&] { return NEXT(open)(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (is_memory_file(path)) cannot_follow(kMemoryFile, call_site());
  return opened(AT_FDCWD, path, flags, [&] { return NEXT(open64)(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (is_memory_file(path)) cannot_follow(kMemoryFile, call_site());
  return opened(folder, path, flags, [&] { return NEXT(openat)(folder, path, flags, mode); });
}

FILE* fopen(const char* path, const char* mode) {
  if (is_memory_file(path)) cannot_follow(kMemoryFile, call_site());
  return opened(path, mode, call_site(), [&] { return NEXT(fopen)(path, mode); });
}

FILE* fopen64(const char* path, const char* mode) {
  if (is_memory_file(path)) cannot_follow(kMemoryFile, call_site());
  return opened(path, mode, call_site(), [&] { return NEXT(fopen64)(path, mode); });
}

ssize_t process_vm_writev(pid_t process, const iovec* from, unsigned long parts, const iovec* to, unsigned long others,
                          unsigned long flags) noexcept {
  if (watched()) cannot_follow("target code writes to memory by process_vm_writev", call_site());
  return NEXT(process_vm_writev)(process, from, parts, to, others, flags);
}

// The calls that pass the pool to the kernel under a number. The function takes six arguments, as the C library's own
// does, however many the caller gave: the rest is whatever lies on the caller's stack.
[[clang::no_sanitize("address")]] long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (long& argument : a) argument = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_futex && powercut::runtime::scheduled_thread() != 0) {
    return powercut::runtime::futex_step({a[0], a[1], a[2], a[3], a[4], a[5]}, call_site());
  }
  for (size_t i = 0; i < arguments_of(number); ++i) {
    if (watched() && in_pool(reinterpret_cast<char*>(a[i]))) {
      cannot_follow("target code passes an address of the pool to syscall(2)", call_site());
    }
  }
  if (const auto result = powercut::runtime::device_system_call(number, a)) return *result;
  // The call does not go through dlsym: others call this function before anything can be looked up.
  return powercut::system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// Called before assembly that enters the kernel by itself: the registers that it hands over are not looked at.
void __powercut_enters_kernel(void) {
  if (watched()) cannot_follow("assembly of the target enters the kernel by itself", call_site());
}

}  // extern "C"
