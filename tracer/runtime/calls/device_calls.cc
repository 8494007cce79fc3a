// The program's calls on the file that is recorded as a block device, in front of the C library's functions. Writes,
// sizes and syncs are recorded, each made under the session's lock, so that the order of the records is the order of
// the calls. A call that is not modelled is refused by its name: the run has no verdict then.
//
// Known inaccuracies: calls of the kernel by assembly, and by the C library itself, are not seen. The changes that such
// calls leave in the file are found at the end of the recording, when the file is compared with the records.
#include "tracer/runtime/calls/device_calls.h"

#include <aio.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/system_call.h"
#include "tracer/runtime/calls/next_function.h"

namespace powercut::runtime {
namespace {

bool is_durable(int fd, int flags) {
  return (fcntl(fd, F_GETFL) & O_DSYNC) != 0 || (flags & (RWF_DSYNC | RWF_SYNC)) != 0;
}

// Returns where the `done` bytes lie that a call has written. With O_APPEND they lie at the end, whatever the offset
// says.
uint64_t written_from(int fd, std::optional<off_t> offset, int flags, ssize_t done) {
  struct stat status{};
  const bool append = (fcntl(fd, F_GETFL) & O_APPEND) != 0 || (flags & RWF_APPEND) != 0;
  if (append && fstat(fd, &status) == 0) return static_cast<uint64_t>(status.st_size - done);
  return static_cast<uint64_t>(offset ? *offset : lseek(fd, 0, SEEK_CUR) - done);
}

// Records a call by which the kernel fills the file from elsewhere. `offset`: the call's, which the call moves on;
// null: the file's position.
template <typename Copy>
ssize_t copied_to(int fd, const off64_t* offset, const CallSite& site, const Copy& copy) {
  const auto done = on_device(fd, copy, [&](StreamTrace& stream, ssize_t copied) {
    if (copied <= 0) return;
    const std::optional<off_t> from = offset == nullptr ? std::nullopt : std::optional<off_t>(*offset - copied);
    stream.device_filled(fd, written_from(fd, from, 0, copied), static_cast<uint64_t>(copied), is_durable(fd, 0), site);
  });
  return done ? *done : copy();
}

void refuse(const char* what) {
  if (!watches_device()) return;
  const int error = errno;
  with_stream([&](StreamTrace& stream) { stream.refuse(what); });
  errno = error;
}

void refuse_on(int fd, const char* what) {
  on_device(fd, [] { return 0; }, [&](StreamTrace& stream, int) { stream.refuse(what); });
}

// Makes a call on names, which may be the device's. The names are looked at before the call, which may take them away,
// and after the call, which may give them.
template <typename Call>
int on_names(const char* what, int folder, const char* path, int other_folder, const char* other, const Call& call) {
  if (!watches_device()) return call();
  bool ours = false;
  const auto look = [&](StreamTrace& stream) {
    ours = ours || stream.touch_device(folder, path, false) ||
           (other != nullptr && stream.touch_device(other_folder, other, false));
  };
  with_stream(look);
  const int result = call();
  const int error = errno;
  with_stream([&](StreamTrace& stream) {
    look(stream);
    if (ours && result == 0) stream.refuse(what);
  });
  errno = error;
  return result;
}

template <typename Call>
int sync_everything(const CallSite& site, const Call& call) {
  if (!watches_device()) return call();
  std::optional<int> result;
  with_stream([&](StreamTrace& stream) {
    result = call();
    if (stream.active() && *result == 0) stream.device_synced(site);
  });
  return result ? *result : call();
}

template <typename Call>
int allocate(int fd, int mode, off64_t offset, off64_t size, const CallSite& site, const Call& call) {
  const auto done = on_device(fd, call, [&](StreamTrace& stream, int result) {
    if (result != 0) return;
    if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) {
      return stream.refuse("fallocate with another mode than KEEP_SIZE, PUNCH_HOLE or ZERO_RANGE");
    }
    stream.device_resized(fd, site);
    if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) return;
    struct stat status{};
    if (fstat(fd, &status) != 0 || offset >= status.st_size) return;
    stream.device_zeroed(fd, static_cast<uint64_t>(offset),
                         static_cast<uint64_t>(std::min(size, status.st_size - offset)), site);
  });
  return done ? *done : call();
}

}  // namespace

std::optional<ssize_t> device_write(int fd, std::span<const iovec> parts, std::optional<off_t> offset, int flags,
                                    const CallSite& site, const std::function<ssize_t()>& call) {
  return on_device(fd, call, [&](StreamTrace& stream, ssize_t done) {
    if (done <= 0) return;
    std::vector<uint8_t> bytes;
    for (const iovec& part : parts) {
      const size_t size = std::min(part.iov_len, static_cast<size_t>(done) - bytes.size());
      const auto* from = static_cast<const uint8_t*>(part.iov_base);
      bytes.insert(bytes.end(), from, from + size);
    }
    const uint64_t from = written_from(fd, offset, flags, done);
    stream.device_written(fd, from, bytes.data(), bytes.size(), is_durable(fd, flags), site);
  });
}

std::optional<int> device_resize(int fd, const CallSite& site, const std::function<int()>& call) {
  return on_device(fd, call, [&](StreamTrace& stream, int result) {
    if (result == 0) stream.device_resized(fd, site);
  });
}

std::optional<int> device_sync(int fd, const CallSite& site, const std::function<int()>& call) {
  return on_device(fd, call, [&](StreamTrace& stream, int result) {
    if (result == 0) stream.device_synced(site);
  });
}

void before_open(int folder, const char* path, int flags) {
  // The contents of the file before it is emptied are part of the recording.
  if (!watches_device() || (flags & O_TRUNC) == 0) return;
  with_stream([&](StreamTrace& stream) { stream.touch_device(folder, path, true); });
}

void after_open(int fd) {
  if (fd >= 0) on_device(fd, [] { return 0; }, [](StreamTrace&, int) {});
}

void after_stream_open(FILE* file, const char* mode, const CallSite& site) {
  if (!watches_device() || file == nullptr || strpbrk(mode, "wa+") == nullptr) return;
  on_device(
      fileno(file), [] { return 0; },
      [&](StreamTrace& stream, int) {
        // The C++ library takes the descriptor and writes by itself, which the recording sees.
        if (!stream.is_of(site.pc, "libstdc++")) stream.refuse("fopen for writing (stdio writes inside the C library)");
      });
}

void device_mapping(int fd, void* address, size_t length, int protection, int flags) {
  on_device(
      fd, [] { return 0; },
      [&](StreamTrace& stream, int) {
        if ((flags & MAP_TYPE) == MAP_PRIVATE) return;
        stream.device_mapped(reinterpret_cast<uint64_t>(address), length, (protection & PROT_WRITE) != 0);
      });
}

void device_protection(void* address, size_t length, int protection) {
  if (!watches_device()) return;
  const int error = errno;
  with_stream([&](StreamTrace& stream) {
    stream.device_protected(reinterpret_cast<uint64_t>(address), length, (protection & PROT_WRITE) != 0);
  });
  errno = error;
}

}  // namespace powercut::runtime

using powercut::runtime::call_site;
using powercut::runtime::copied_to;
using powercut::runtime::device_resize;
using powercut::runtime::device_write;
using powercut::runtime::on_names;
using powercut::runtime::refuse_on;
using powercut::runtime::sync_everything;

namespace {

template <typename Call>
ssize_t write_parts(int fd, const iovec* parts, int count, std::optional<off_t> offset, int flags,
                    const powercut::runtime::CallSite& site, const Call& call) {
  if (!powercut::runtime::watches_device()) return call();
  const auto done = device_write(fd, {parts, static_cast<size_t>(std::max(count, 0))}, offset, flags, site, call);
  return done ? *done : call();
}

template <typename Call>
int change_size_of(const char* path, off64_t size, const powercut::runtime::CallSite& site, const Call& call) {
  if (!powercut::runtime::watches_device()) return call();
  const int fd = static_cast<int>(powercut::system_call(SYS_open, path, O_WRONLY | O_CLOEXEC));
  const auto done =
      fd < 0
          ? std::nullopt
          : device_resize(fd, site, [&] { return static_cast<int>(powercut::system_call(SYS_ftruncate, fd, size)); });
  if (fd >= 0) powercut::system_call(SYS_close, fd);
  return done ? *done : call();
}

}  // namespace

extern "C" {

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return write_parts(fd, parts, count, offset, 0, call_site(), [&] { return NEXT(pwritev)(fd, parts, count, offset); });
}

ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return write_parts(fd, parts, count, offset, 0, call_site(),
                     [&] { return NEXT(pwritev64)(fd, parts, count, offset); });
}

ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return write_parts(fd, parts, count, offset == -1 ? std::nullopt : std::optional(offset), flags, call_site(),
                     [&] { return NEXT(pwritev2)(fd, parts, count, offset, flags); });
}

ssize_t pwritev64v2(int fd, const iovec* parts, int count, off64_t offset, int flags) {
  return write_parts(fd, parts, count, offset == -1 ? std::nullopt : std::optional(offset), flags, call_site(),
                     [&] { return NEXT(pwritev64v2)(fd, parts, count, offset, flags); });
}

int truncate(const char* path, off_t size) noexcept {
  return change_size_of(path, size, call_site(), [&] { return NEXT(truncate)(path, size); });
}

int truncate64(const char* path, off64_t size) noexcept {
  return change_size_of(path, size, call_site(), [&] { return NEXT(truncate64)(path, size); });
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  return powercut::runtime::allocate(fd, mode, offset, size, call_site(),
                                     [&] { return NEXT(fallocate)(fd, mode, offset, size); });
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  return powercut::runtime::allocate(fd, mode, offset, size, call_site(),
                                     [&] { return NEXT(fallocate64)(fd, mode, offset, size); });
}

int posix_fallocate64(int fd, off64_t offset, off64_t size) {
  const auto call = [&] { return NEXT(posix_fallocate64)(fd, offset, size); };
  if (!powercut::runtime::watches_device()) return call();
  const auto done = device_resize(fd, call_site(), call);
  return done ? *done : call();
}

void sync() noexcept {
  sync_everything(call_site(), [] {
    powercut::system_call(SYS_sync);
    return 0;
  });
}

int syncfs(int fd) noexcept {
  // A descriptor of another file system syncs nothing of the device.
  struct stat asked{};
  const auto call = [&] { return static_cast<int>(powercut::system_call(SYS_syncfs, fd)); };
  const bool ours = fstat(fd, &asked) == 0 && powercut::runtime::watches_device() && [&] {
    bool same = false;
    powercut::runtime::with_stream([&](powercut::runtime::StreamTrace& stream) { same = stream.is_on(asked.st_dev); });
    return same;
  }();
  return ours ? sync_everything(call_site(), call) : call();
}

ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size, unsigned flags) {
  return copied_to(to, to_offset, call_site(),
                   [&] { return NEXT(copy_file_range)(from, from_offset, to, to_offset, size, flags); });
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size, unsigned flags) {
  return copied_to(to, to_offset, call_site(),
                   [&] { return NEXT(splice)(from, from_offset, to, to_offset, size, flags); });
}

ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  return copied_to(to, nullptr, call_site(), [&] { return NEXT(sendfile)(to, from, offset, size); });
}

ssize_t sendfile64(int to, int from, off64_t* offset, size_t size) noexcept {
  return copied_to(to, nullptr, call_site(), [&] { return NEXT(sendfile64)(to, from, offset, size); });
}

int creat(const char* path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int creat64(const char* path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC | O_LARGEFILE, mode); }

FILE* fdopen(int fd, const char* mode) noexcept {
  FILE* const file = NEXT(fdopen)(fd, mode);
  powercut::runtime::after_stream_open(file, mode, call_site());
  return file;
}

FILE* freopen(const char* path, const char* mode, FILE* file) {
  FILE* const opened = NEXT(freopen)(path, mode, file);
  powercut::runtime::after_stream_open(opened, mode, call_site());
  return opened;
}

int rename(const char* from, const char* to) noexcept {
  return on_names("rename", AT_FDCWD, from, AT_FDCWD, to, [&] { return NEXT(rename)(from, to); });
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return on_names("renameat", from_folder, from, to_folder, to,
                  [&] { return NEXT(renameat)(from_folder, from, to_folder, to); });
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return on_names("renameat2", from_folder, from, to_folder, to,
                  [&] { return NEXT(renameat2)(from_folder, from, to_folder, to, flags); });
}

int link(const char* from, const char* to) noexcept {
  return on_names("link", AT_FDCWD, from, AT_FDCWD, to, [&] { return NEXT(link)(from, to); });
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return on_names("linkat", from_folder, from, to_folder, to,
                  [&] { return NEXT(linkat)(from_folder, from, to_folder, to, flags); });
}

int unlink(const char* path) noexcept {
  return on_names("unlink", AT_FDCWD, path, AT_FDCWD, nullptr, [&] { return NEXT(unlink)(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return on_names("unlinkat", folder, path, AT_FDCWD, nullptr, [&] { return NEXT(unlinkat)(folder, path, flags); });
}

int remove(const char* path) noexcept {
  return on_names("remove", AT_FDCWD, path, AT_FDCWD, nullptr, [&] { return NEXT(remove)(path); });
}

int aio_write(aiocb* block) noexcept {
  refuse_on(block->aio_fildes, "aio_write");
  return NEXT(aio_write)(block);
}

int aio_write64(aiocb64* block) noexcept {
  refuse_on(block->aio_fildes, "aio_write");
  return NEXT(aio_write64)(block);
}

int lio_listio(int mode, aiocb* const blocks[], int count, sigevent* event) noexcept {
  for (int i = 0; i < count; ++i) {
    if (blocks[i] != nullptr) refuse_on(blocks[i]->aio_fildes, "lio_listio");
  }
  return NEXT(lio_listio)(mode, blocks, count, event);
}

int lio_listio64(int mode, aiocb64* const blocks[], int count, sigevent* event) noexcept {
  for (int i = 0; i < count; ++i) {
    if (blocks[i] != nullptr) refuse_on(blocks[i]->aio_fildes, "lio_listio");
  }
  return NEXT(lio_listio64)(mode, blocks, count, event);
}

}  // extern "C"

namespace powercut::runtime {

std::optional<long> device_system_call(long number, const long (&a)[6]) {
  if (!watches_device()) return std::nullopt;
  const auto fd = static_cast<int>(a[0]), second = static_cast<int>(a[1]), third = static_cast<int>(a[2]);
  const auto path = [&](int i) { return reinterpret_cast<const char*>(a[i]); };
  const auto parts = reinterpret_cast<const iovec*>(a[1]);
  const auto offset = [&](int i) { return reinterpret_cast<off64_t*>(a[i]); };
  const auto size = static_cast<size_t>(a[2]);
  switch (number) {
    case SYS_write:
      return ::write(fd, path(1), size);
    case SYS_pwrite64:
      return ::pwrite(fd, path(1), size, a[3]);
    case SYS_writev:
      return ::writev(fd, parts, third);
    case SYS_pwritev:
      return ::pwritev(fd, parts, third, a[3]);
    case SYS_pwritev2:
      return ::pwritev2(fd, parts, third, a[3], static_cast<int>(a[5]));
    case SYS_ftruncate:
      return ::ftruncate(fd, a[1]);
    case SYS_truncate:
      return ::truncate(path(0), a[1]);
    case SYS_fallocate:
      return ::fallocate(fd, second, a[2], a[3]);
    case SYS_fsync:
      return ::fsync(fd);
    case SYS_fdatasync:
      return ::fdatasync(fd);
    case SYS_sync:
      ::sync();
      return 0;
    case SYS_syncfs:
      return ::syncfs(fd);
    case SYS_copy_file_range:
      return ::copy_file_range(fd, offset(1), third, offset(3), static_cast<size_t>(a[4]), static_cast<unsigned>(a[5]));
    case SYS_splice:
      return ::splice(fd, offset(1), third, offset(3), static_cast<size_t>(a[4]), static_cast<unsigned>(a[5]));
    case SYS_sendfile:
      return ::sendfile(fd, second, offset(2), static_cast<size_t>(a[3]));
    case SYS_open:
      return ::open(path(0), second, third);
    case SYS_openat:
      return ::openat(fd, path(1), third, static_cast<mode_t>(a[3]));
    case SYS_creat:
      return ::creat(path(0), static_cast<mode_t>(a[1]));
    case SYS_rename:
      return ::rename(path(0), path(1));
    case SYS_renameat:
      return ::renameat(fd, path(1), third, path(3));
    case SYS_renameat2:
      return ::renameat2(fd, path(1), third, path(3), static_cast<unsigned>(a[4]));
    case SYS_link:
      return ::link(path(0), path(1));
    case SYS_linkat:
      return ::linkat(fd, path(1), third, path(3), static_cast<int>(a[4]));
    case SYS_unlink:
      return ::unlink(path(0));
    case SYS_unlinkat:
      return ::unlinkat(fd, path(1), third);
    case SYS_io_uring_setup:
      refuse("io_uring, which may work");
      return std::nullopt;
    case SYS_io_submit:
      refuse("io_submit, which may work");
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace powercut::runtime
