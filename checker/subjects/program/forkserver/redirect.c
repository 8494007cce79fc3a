/* Leads a program that names the recorded pool to the image at hand: every call of the C library that takes a path.
 *
 * Known inaccuracies: system calls that a program makes itself (syscall(), io_uring) keep their path. */
#define _GNU_SOURCE
#include "checker/subjects/program/forkserver/redirect.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/file_times.h"

#define EXPORT __attribute__((visibility("default")))
struct next_function {
  void** to;
  const char* name;
};
/* The definition that would have been called without us. The linker makes one list of all entries. */
#define REAL(name)                                                                                             \
  static __typeof__(name)* real;                                                                               \
  static struct next_function entry __attribute__((section("next_functions"), used)) = {(void**)&real, #name}; \
  if (real == NULL) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)
#define IMAGE(path) powercut_image_of(AT_FDCWD, path)
#define IMAGE_AT(fd, path) powercut_image_of(fd, path)

extern struct next_function __start_next_functions[], __stop_next_functions[];

void powercut_prepare_redirects(void) {
  for (struct next_function* at = __start_next_functions; at < __stop_next_functions; ++at) {
    *at->to = dlsym(RTLD_NEXT, at->name);
  }
  powercut_pools();
}

/* The headers of some C library versions do not declare these functions. */
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int fd, const char* path, int flags);
int __openat64_2(int fd, const char* path, int flags);
int __xstat(int version, const char* path, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstatat(int version, int fd, const char* path, struct stat* out, int flags);
int __xstat64(int version, const char* path, struct stat64* out);
int __lxstat64(int version, const char* path, struct stat64* out);
int __fxstatat64(int version, int fd, const char* path, struct stat64* out, int flags);
int __fxstat(int version, int fd, struct stat* out);
int __fxstat64(int version, int fd, struct stat64* out);

#define NEEDS_MODE(flags) (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE)
/* Declares `mode`, and reads its value from behind `flags` where `flags` ask for one. */
#define MODE_AFTER(flags)        \
  mode_t mode = 0;               \
  if (NEEDS_MODE(flags)) {       \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }
#define OPEN(name)                                    \
  EXPORT int name(const char* path, int flags, ...) { \
    REAL(name);                                       \
    MODE_AFTER(flags)                                 \
    return real(IMAGE(path), flags, mode);            \
  }
#define OPENAT(name)                                          \
  EXPORT int name(int fd, const char* path, int flags, ...) { \
    REAL(name);                                               \
    MODE_AFTER(flags)                                         \
    return real(fd, IMAGE_AT(fd, path), flags, mode);         \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* The name stands alone: `path` is its first parameter, the others are handed on. */
#define WITH_PATH(result, name, parameters, ...) \
  EXPORT result name parameters {                \
    REAL(name);                                  \
    return real(IMAGE(path), ##__VA_ARGS__);     \
  }
#define WITH_FOLDER(result, name, parameters, ...)    \
  EXPORT result name parameters {                     \
    REAL(name);                                       \
    return real(fd, IMAGE_AT(fd, path), __VA_ARGS__); \
  }

WITH_PATH(int, __open_2, (const char* path, int flags), flags)
WITH_PATH(int, __open64_2, (const char* path, int flags), flags)
WITH_FOLDER(int, __openat_2, (int fd, const char* path, int flags), flags)
WITH_FOLDER(int, __openat64_2, (int fd, const char* path, int flags), flags)
WITH_PATH(int, creat, (const char* path, mode_t mode), mode)
WITH_PATH(int, creat64, (const char* path, mode_t mode), mode)
WITH_PATH(FILE*, fopen, (const char* path, const char* mode), mode)
WITH_PATH(FILE*, fopen64, (const char* path, const char* mode), mode)
WITH_PATH(FILE*, freopen, (const char* path, const char* mode, FILE* file), mode, file)
WITH_PATH(FILE*, freopen64, (const char* path, const char* mode, FILE* file), mode, file)

/* The kernel's answer, with the times that an image has for this run. */
static int with_times(int result, void* out) {
  if (result == 0) powercut_settle_times(out); /* struct stat64 is the same */
  return result;
}
#define STAT(name, type)                            \
  EXPORT int name(const char* path, type* out) {    \
    REAL(name);                                     \
    return with_times(real(IMAGE(path), out), out); \
  }
#define FSTAT(name, type)                  \
  EXPORT int name(int fd, type* out) {     \
    REAL(name);                            \
    return with_times(real(fd, out), out); \
  }
#define FSTATAT(name, type)                                           \
  EXPORT int name(int fd, const char* path, type* out, int flags) {   \
    REAL(name);                                                       \
    return with_times(real(fd, IMAGE_AT(fd, path), out, flags), out); \
  }
STAT(stat, struct stat)
STAT(lstat, struct stat)
STAT(stat64, struct stat64)
STAT(lstat64, struct stat64)
FSTAT(fstat, struct stat)
FSTAT(fstat64, struct stat64)
FSTATAT(fstatat, struct stat)
FSTATAT(fstatat64, struct stat64)
EXPORT int statx(int fd, const char* path, int flags, unsigned mask, struct statx* out) {
  REAL(statx);
  const int result = real(fd, IMAGE_AT(fd, path), flags, mask, out);
  if (result == 0) powercut_settle_statx(out);
  return result;
}

/* Programs that were built with an older C library call the following functions. */
#define XSTAT(name, type)                                     \
  EXPORT int name(int version, const char* path, type* out) { \
    REAL(name);                                               \
    return with_times(real(version, IMAGE(path), out), out);  \
  }
XSTAT(__xstat, struct stat)
XSTAT(__lxstat, struct stat)
XSTAT(__xstat64, struct stat64)
XSTAT(__lxstat64, struct stat64)
EXPORT int __fxstat(int version, int fd, struct stat* out) {
  REAL(__fxstat);
  return with_times(real(version, fd, out), out);
}
EXPORT int __fxstat64(int version, int fd, struct stat64* out) {
  REAL(__fxstat64);
  return with_times(real(version, fd, out), out);
}
EXPORT int __fxstatat(int version, int fd, const char* path, struct stat* out, int flags) {
  REAL(__fxstatat);
  return with_times(real(version, fd, IMAGE_AT(fd, path), out, flags), out);
}
EXPORT int __fxstatat64(int version, int fd, const char* path, struct stat64* out, int flags) {
  REAL(__fxstatat64);
  return with_times(real(version, fd, IMAGE_AT(fd, path), out, flags), out);
}

WITH_PATH(int, statfs, (const char* path, struct statfs* out), out)
WITH_PATH(int, statfs64, (const char* path, struct statfs64* out), out)
WITH_PATH(int, statvfs, (const char* path, struct statvfs* out), out)
WITH_PATH(int, statvfs64, (const char* path, struct statvfs64* out), out)

WITH_PATH(int, access, (const char* path, int mode), mode)
WITH_PATH(int, eaccess, (const char* path, int mode), mode)
WITH_PATH(int, euidaccess, (const char* path, int mode), mode)
WITH_FOLDER(int, faccessat, (int fd, const char* path, int mode, int flags), mode, flags)
WITH_PATH(int, truncate, (const char* path, off_t size), size)
WITH_PATH(int, truncate64, (const char* path, off64_t size), size)
WITH_PATH(int, chmod, (const char* path, mode_t mode), mode)
WITH_PATH(int, unlink, (const char* path))
WITH_PATH(int, remove, (const char* path))
WITH_FOLDER(int, unlinkat, (int fd, const char* path, int flags), flags)
WITH_PATH(char*, realpath, (const char* path, char* out), out)
WITH_PATH(char*, canonicalize_file_name, (const char* path))
EXPORT int rename(const char* from, const char* to) {
  REAL(rename);
  return real(IMAGE(from), IMAGE(to));
}
EXPORT int renameat(int from_fd, const char* from, int to_fd, const char* to) {
  REAL(renameat);
  return real(from_fd, IMAGE_AT(from_fd, from), to_fd, IMAGE_AT(to_fd, to));
}
EXPORT int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  REAL(renameat2);
  return real(from_fd, IMAGE_AT(from_fd, from), to_fd, IMAGE_AT(to_fd, to), flags);
}
EXPORT int link(const char* from, const char* to) {
  REAL(link);
  return real(IMAGE(from), IMAGE(to));
}

/* The C library turns the name into "/dev/shm/name" out of our sight. */
EXPORT int shm_open(const char* name, int flags, mode_t mode) {
  REAL(shm_open);
  char path[PATH_MAX];
  snprintf(path, sizeof path, "/dev/shm/%s", name[0] == '/' ? name + 1 : name);
  const char* image = IMAGE(path);
  return image == path ? real(name, flags, mode) : open(image, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}
EXPORT int shm_unlink(const char* name) {
  REAL(shm_unlink);
  char path[PATH_MAX];
  snprintf(path, sizeof path, "/dev/shm/%s", name[0] == '/' ? name + 1 : name);
  const char* image = IMAGE(path);
  return image == path ? real(name) : unlink(image);
}
