// Functions of the C library that store their results through a pointer of the caller's, in front of the real
// functions. In a pool of a recorded program such a result is a store like any other, which no hook sees. Each entry of
// the table names the function, when it has stored, and which bytes. Functions that move a caller's bytes from and to
// files are in kernel_calls.cc.
//
// The real function works on the pool itself. Its stored bytes are announced afterwards, as one store without an order
// within it. An entry may name more bytes than were stored: a byte that is stored as it was changes no crash state.
// Under an engine that watches a pool (hooks.h, powercut_alias) nothing is announced here.
//
// Known inaccuracies: some stores are found only by unseen_stores.h, and the verdict is `unknown`. The functions that
// make them are not listed here, are called by number (syscall(2)), or are the checked form of a listed function
// (_FORTIFY_SOURCE). Another thread's events between a function's own stores and their announcement come first in the
// trace.
#include <arpa/inet.h>
#include <dirent.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <initializer_list>

#include "tracer/runtime/calls/next_function.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/recording/session.h"

using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;

namespace {

// Bytes that a function has stored; null where the caller wanted none.
struct Stored {
  const void* at;
  size_t size;
};

template <typename T>
Stored object(T* at) {
  return {at, sizeof *at};
}

template <typename Size>
Stored bytes(const void* at, Size size) {
  return {at, static_cast<size_t>(size)};
}

// A text with its terminating zero.
Stored text(const char* at) { return {at, at == nullptr ? 0 : strlen(at) + 1}; }

// A set of descriptors below `count`, in the kernel's words.
Stored descriptors(const fd_set* set, int count) {
  constexpr size_t kBits = 8 * sizeof(long);
  return {set, (static_cast<size_t>(count) + kBits - 1) / kBits * sizeof(long)};
}

// An address that a socket call stores, as far as there was room for it.
Stored address(const void* at, socklen_t room, const socklen_t* size) {
  return {at, size == nullptr ? 0 : std::min(room, *size)};
}
socklen_t room_of(const socklen_t* size) { return size == nullptr ? 0 : *size; }

void announce(std::initializer_list<Stored> all, const CallSite& site) {
  if (!powercut::runtime::watches_pools()) return;
  const int error = errno;
  powercut::runtime::Pieces pieces(POWERCUT_STORE_MEMCALL);
  for (const Stored& stored : all) {
    if (stored.at == nullptr || stored.size == 0) continue;
    announce_store(stored.at, stored.size, pieces.flags_of(stored.at, stored.size), stored.at, site);
  }
  errno = error;
}

// The kernel stores the answer of each entry by itself.
void announce(const pollfd* polled, nfds_t count, const CallSite& site) {
  for (nfds_t i = 0; i < count; ++i) announce({object(&polled[i].revents)}, site);
}

void announce(const msghdr* message, ssize_t done, const CallSite& site) {
  announce({object(message), bytes(message->msg_name, message->msg_namelen),
            bytes(message->msg_control, message->msg_controllen)},
           site);
  for (size_t i = 0; i < message->msg_iovlen && done > 0; ++i) {
    const iovec& part = message->msg_iov[i];
    const size_t piece = std::min(part.iov_len, static_cast<size_t>(done));
    announce({bytes(part.iov_base, piece)}, site);
    done -= static_cast<ssize_t>(piece);
  }
}

}  // namespace

// Defines a function of the C library: its result, name, parameters, arguments and exception specification; when it has
// stored, by its result `done`; and which bytes it has stored.
#define STORES(result, name, parameters, arguments, specification, when, ...) \
  result name parameters specification {                                      \
    powercut::runtime::settle();                                              \
    result const done = NEXT(name) arguments;                                 \
    if (when) announce({__VA_ARGS__}, call_site());                           \
    return done;                                                              \
  }
#define NO_THROW noexcept
#define MAY_THROW

extern "C" {

// ---- time ------------------------------------------------------------------------------------------------------
STORES(int, clock_gettime, (clockid_t clock, timespec* out), (clock, out), NO_THROW, done == 0, object(out))
STORES(int, clock_getres, (clockid_t clock, timespec* out), (clock, out), NO_THROW, done == 0, object(out))
STORES(int, gettimeofday, (timeval * out, void* zone), (out, zone), NO_THROW, done == 0, object(out),
       bytes(zone, sizeof(struct timezone)))
STORES(int, timespec_get, (timespec * out, int base), (out, base), NO_THROW, done != 0, object(out))
STORES(time_t, time, (time_t* out), (out), NO_THROW, done != -1, object(out))
STORES(clock_t, times, (tms * out), (out), NO_THROW, done != -1, object(out))
STORES(tm*, gmtime_r, (const time_t* when, tm* out), (when, out), NO_THROW, done != nullptr, object(out))
STORES(tm*, localtime_r, (const time_t* when, tm* out), (when, out), NO_THROW, done != nullptr, object(out))
STORES(char*, ctime_r, (const time_t* when, char* out), (when, out), NO_THROW, done != nullptr, text(out))
STORES(char*, asctime_r, (const tm* when, char* out), (when, out), NO_THROW, done != nullptr, text(out))
STORES(size_t, strftime, (char* out, size_t size, const char* format, const tm* when), (out, size, format, when),
       NO_THROW, done != 0, bytes(out, done + 1))
STORES(int, getitimer, (__itimer_which_t which, itimerval* out), (which, out), NO_THROW, done == 0, object(out))
STORES(int, timerfd_gettime, (int fd, itimerspec* out), (fd, out), NO_THROW, done == 0, object(out))

// ---- random numbers --------------------------------------------------------------------------------------------
STORES(int, getentropy, (void* out, size_t size), (out, size), MAY_THROW, done == 0, bytes(out, size))
STORES(int, rand_r, (unsigned* seed), (seed), NO_THROW, true, object(seed))

// ---- files -----------------------------------------------------------------------------------------------------
STORES(int, stat, (const char* path, struct stat* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstat, (int fd, struct stat* out), (fd, out), NO_THROW, done == 0, object(out))
STORES(int, lstat, (const char* path, struct stat* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstatat, (int fd, const char* path, struct stat* out, int flags), (fd, path, out, flags), NO_THROW,
       done == 0, object(out))
STORES(int, stat64, (const char* path, struct stat64* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstat64, (int fd, struct stat64* out), (fd, out), NO_THROW, done == 0, object(out))
STORES(int, lstat64, (const char* path, struct stat64* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstatat64, (int fd, const char* path, struct stat64* out, int flags), (fd, path, out, flags), NO_THROW,
       done == 0, object(out))
STORES(int, statx, (int fd, const char* path, int flags, unsigned mask, struct statx* out),
       (fd, path, flags, mask, out), NO_THROW, done == 0, object(out))
STORES(int, statfs, (const char* path, struct statfs* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstatfs, (int fd, struct statfs* out), (fd, out), NO_THROW, done == 0, object(out))
STORES(int, statvfs, (const char* path, struct statvfs* out), (path, out), NO_THROW, done == 0, object(out))
STORES(int, fstatvfs, (int fd, struct statvfs* out), (fd, out), NO_THROW, done == 0, object(out))
STORES(char*, getcwd, (char* out, size_t size), (out, size), NO_THROW, done != nullptr && out != nullptr, text(out))
STORES(char*, realpath, (const char* path, char* out), (path, out), NO_THROW, done != nullptr, text(out))
STORES(ssize_t, readlink, (const char* path, char* out, size_t size), (path, out, size), NO_THROW, done > 0,
       bytes(out, done))
STORES(ssize_t, readlinkat, (int fd, const char* path, char* out, size_t size), (fd, path, out, size), NO_THROW,
       done > 0, bytes(out, done))
STORES(ssize_t, getdents64, (int fd, void* out, size_t size), (fd, out, size), NO_THROW, done > 0, bytes(out, done))
STORES(ssize_t, getxattr, (const char* path, const char* name, void* out, size_t size), (path, name, out, size),
       NO_THROW, done > 0 && size > 0, bytes(out, done))
STORES(ssize_t, fgetxattr, (int fd, const char* name, void* out, size_t size), (fd, name, out, size), NO_THROW,
       done > 0 && size > 0, bytes(out, done))
STORES(char*, fgets, (char* out, int size, FILE* file), (out, size, file), MAY_THROW, done != nullptr, bytes(out, size))
STORES(int, pipe, (int* out), (out), NO_THROW, done == 0, bytes(out, 2 * sizeof *out))
STORES(int, pipe2, (int* out, int flags), (out, flags), NO_THROW, done == 0, bytes(out, 2 * sizeof *out))
STORES(int, eventfd_read, (int fd, eventfd_t* out), (fd, out), MAY_THROW, done == 0, object(out))
STORES(int, mincore, (void* begin, size_t size, unsigned char* out), (begin, size, out), NO_THROW, done == 0,
       bytes(out, (size + 4095) / 4096))

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  powercut::runtime::settle();
  const int done = NEXT(ioctl)(fd, request, argument);
  if (done != 0) return done;
  if (request == FIONREAD || request == TIOCGPGRP || request == TIOCOUTQ) {
    announce({bytes(argument, sizeof(int))}, call_site());
  } else if (request == TIOCGWINSZ) {
    announce({bytes(argument, sizeof(winsize))}, call_site());
  }
  return done;
}

// ---- waiting ---------------------------------------------------------------------------------------------------
STORES(int, select, (int count, fd_set* read, fd_set* write, fd_set* except, timeval* limit),
       (count, read, write, except, limit), MAY_THROW, done >= 0, descriptors(read, count), descriptors(write, count),
       descriptors(except, count), object(limit))
STORES(int, pselect,
       (int count, fd_set* read, fd_set* write, fd_set* except, const timespec* limit, const sigset_t* mask),
       (count, read, write, except, limit, mask), MAY_THROW, done >= 0, descriptors(read, count),
       descriptors(write, count), descriptors(except, count))
STORES(int, epoll_wait, (int fd, epoll_event* out, int most, int limit), (fd, out, most, limit), MAY_THROW, done > 0,
       bytes(out, static_cast<size_t>(done) * sizeof *out))
STORES(pid_t, wait, (int* status), (status), MAY_THROW, done > 0, object(status))
STORES(pid_t, waitpid, (pid_t pid, int* status, int options), (pid, status, options), MAY_THROW, done > 0,
       object(status))
STORES(pid_t, wait3, (int* status, int options, rusage* used), (status, options, used), NO_THROW, done > 0,
       object(status), object(used))
STORES(pid_t, wait4, (pid_t pid, int* status, int options, rusage* used), (pid, status, options, used), NO_THROW,
       done > 0, object(status), object(used))
STORES(int, waitid, (idtype_t type, id_t id, siginfo_t* out, int options), (type, id, out, options), MAY_THROW,
       done == 0, object(out))

int poll(pollfd* polled, nfds_t count, int limit) {
  powercut::runtime::settle();
  const int done = NEXT(poll)(polled, count, limit);
  if (done >= 0) announce(polled, count, call_site());
  return done;
}

int ppoll(pollfd* polled, nfds_t count, const timespec* limit, const sigset_t* mask) {
  powercut::runtime::settle();
  const int done = NEXT(ppoll)(polled, count, limit, mask);
  if (done >= 0) announce(polled, count, call_site());
  return done;
}

// ---- sockets ---------------------------------------------------------------------------------------------------
ssize_t recvfrom(int fd, void* out, size_t size, int flags, sockaddr* from, socklen_t* length) {
  powercut::runtime::settle();
  const socklen_t room = room_of(length);
  const ssize_t done = NEXT(recvfrom)(fd, out, size, flags, from, length);
  const size_t came = done < 0 ? 0 : std::min(static_cast<size_t>(done), size);  // MSG_TRUNC: the result counts more
  if (done >= 0) announce({bytes(out, came), address(from, room, length), object(length)}, call_site());
  return done;
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  powercut::runtime::settle();
  const ssize_t done = NEXT(recvmsg)(fd, message, flags);
  if (done >= 0) announce(message, done, call_site());
  return done;
}

#define TELLS_ADDRESS(name, parameters, arguments, specification)                                            \
  int name parameters specification {                                                                        \
    powercut::runtime::settle();                                                                             \
    const socklen_t room = room_of(length);                                                                  \
    const int done = NEXT(name) arguments;                                                                   \
    if (done >= 0 && length != nullptr) announce({address(out, room, length), object(length)}, call_site()); \
    return done;                                                                                             \
  }
TELLS_ADDRESS(getsockname, (int fd, sockaddr* out, socklen_t* length), (fd, out, length), NO_THROW)
TELLS_ADDRESS(getpeername, (int fd, sockaddr* out, socklen_t* length), (fd, out, length), NO_THROW)
TELLS_ADDRESS(getsockopt, (int fd, int level, int name, void* out, socklen_t* length), (fd, level, name, out, length),
              NO_THROW)
TELLS_ADDRESS(accept, (int fd, sockaddr* out, socklen_t* length), (fd, out, length), MAY_THROW)
TELLS_ADDRESS(accept4, (int fd, sockaddr* out, socklen_t* length, int flags), (fd, out, length, flags), MAY_THROW)

STORES(int, socketpair, (int domain, int type, int protocol, int* out), (domain, type, protocol, out), NO_THROW,
       done == 0, bytes(out, 2 * sizeof *out))
STORES(int, inet_pton, (int family, const char* from, void* out), (family, from, out), NO_THROW, done == 1,
       bytes(out, family == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr)))
STORES(const char*, inet_ntop, (int family, const void* from, char* out, socklen_t size), (family, from, out, size),
       NO_THROW, done != nullptr, text(out))

// ---- the process and the machine -------------------------------------------------------------------------------
STORES(int, uname, (utsname * out), (out), NO_THROW, done == 0, object(out))
STORES(int, gethostname, (char* out, size_t size), (out, size), NO_THROW, done == 0, bytes(out, size))
STORES(int, sysinfo, (struct sysinfo * out), (out), NO_THROW, done == 0, object(out))
STORES(int, getrusage, (__rusage_who_t who, rusage* out), (who, out), NO_THROW, done == 0, object(out))
STORES(int, getrlimit, (__rlimit_resource_t which, rlimit* out), (which, out), NO_THROW, done == 0, object(out))
STORES(int, getgroups, (int size, gid_t* out), (size, out), NO_THROW, done > 0 && size > 0,
       bytes(out, static_cast<size_t>(done) * sizeof *out))
STORES(int, getresuid, (uid_t * real, uid_t* effective, uid_t* saved), (real, effective, saved), NO_THROW, done == 0,
       object(real), object(effective), object(saved))
STORES(int, getresgid, (gid_t * real, gid_t* effective, gid_t* saved), (real, effective, saved), NO_THROW, done == 0,
       object(real), object(effective), object(saved))
STORES(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t* out), (pid, size, out), NO_THROW, done == 0,
       bytes(out, size))
STORES(int, sigprocmask, (int how, const sigset_t* set, sigset_t* out), (how, set, out), NO_THROW, done == 0,
       object(out))
STORES(int, getloadavg, (double* out, int count), (out, count), NO_THROW, done > 0,
       bytes(out, static_cast<size_t>(done) * sizeof *out))

}  // extern "C"
