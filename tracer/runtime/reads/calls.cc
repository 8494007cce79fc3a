#include "tracer/runtime/reads/calls.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>

#include "tracer/file_calls/file_calls.h"
#include "tracer/runtime/reads/call_filter.h"
#include "tracer/runtime/reads/followed_pools.h"
#include "tracer/runtime/reads/kernel.h"
#include "tracer/runtime/reads/other_threads.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

namespace powercut::runtime {
namespace {

// The most frequent calls come first. None of these calls reads a file, and each reads memory only by its arguments.
constexpr HarmlessCall kHarmless[] = {
    {SYS_munmap, 2},
    {SYS_mprotect, 3},
    {SYS_close, 1},
    {SYS_fstat, 2},
    {SYS_newfstatat, 4},
    {SYS_brk, 1},
    {SYS_exit_group, 1},
    {SYS_futex, 6},
    {SYS_stat, 2},
    {SYS_lstat, 2},
    {SYS_statx, 5},
    {SYS_access, 2},
    {SYS_faccessat, 3},
    {SYS_faccessat2, 4},
    {SYS_msync, 3},
    {SYS_madvise, 3},
    {SYS_mremap, 5},
    {SYS_fsync, 1},
    {SYS_fdatasync, 1},
    {SYS_fcntl, 3},
    {SYS_flock, 2},
    {SYS_dup, 1},
    {SYS_dup2, 2},
    {SYS_dup3, 3},
    {SYS_pipe, 1},
    {SYS_pipe2, 2},
    {SYS_getpid, 0},
    {SYS_getppid, 0},
    {SYS_gettid, 0},
    {SYS_getuid, 0},
    {SYS_geteuid, 0},
    {SYS_getgid, 0},
    {SYS_getegid, 0},
    {SYS_getpgrp, 0},
    {SYS_umask, 1},
    {SYS_getcwd, 2},
    {SYS_chdir, 1},
    {SYS_unlink, 1},
    {SYS_unlinkat, 3},
    {SYS_rename, 2},
    {SYS_renameat, 4},
    {SYS_renameat2, 5},
    {SYS_mkdir, 2},
    {SYS_mkdirat, 3},
    {SYS_rmdir, 1},
    {SYS_link, 2},
    {SYS_linkat, 5},
    {SYS_symlink, 2},
    {SYS_readlink, 3},
    {SYS_readlinkat, 4},
    {SYS_chmod, 2},
    {SYS_fchmod, 2},
    {SYS_getdents64, 3},
    {SYS_statfs, 2},
    {SYS_fstatfs, 2},
    {SYS_uname, 1},
    {SYS_sysinfo, 1},
    {SYS_getrlimit, 2},
    {SYS_prlimit64, 4},
    {SYS_getrusage, 2},
    {SYS_gettimeofday, 2},
    {SYS_clock_gettime, 2},
    {SYS_clock_getres, 2},
    {SYS_time, 1},
    {SYS_times, 1},
    {SYS_nanosleep, 2},
    {SYS_clock_nanosleep, 4},
    {SYS_pause, 0},
    {SYS_sched_yield, 0},
    {SYS_sched_getaffinity, 3},
    {SYS_getcpu, 3},
    {SYS_getrandom, 3},
    {SYS_sync, 0},
    {SYS_syncfs, 1},
    {SYS_sync_file_range, 4},
    {SYS_fadvise64, 4},
    {SYS_memfd_create, 2},
    {SYS_poll, 3},
    {SYS_kill, 2},
    {SYS_tgkill, 3},
    {SYS_tkill, 2},
    {SYS_wait4, 4},
    {SYS_waitid, 5},
    {SYS_setpgid, 2},
    {SYS_pidfd_open, 2},
    {SYS_ppoll, 5},
    {SYS_sendto, 6},
    {SYS_recvfrom, 6},
    {SYS_rt_sigpending, 2},
    {SYS_sigaltstack, 2},
    {SYS_set_tid_address, 1},
    {SYS_set_robust_list, 2},
    {SYS_rseq, 4},
    {SYS_arch_prctl, 2},
    {SYS_exit, 1},
    {SYS_membarrier, 3},
    {SYS_mlock, 2},
    {SYS_munlock, 2},
};
// True in a run. The server has the filter as well: making it anew in each run takes longer than the run's own calls.
constinit bool in_run = false;

constexpr int kOfFilter = 1;        // SYS_SECCOMP, which not every C library names
constexpr uint64_t kSignalSet = 8;  // bytes of the kernel's sets of signals
constexpr long kMostParts = 64;

struct Call {
  long number;
  long a[6];
  ucontext_t* context;
  bool in_pool(uint32_t argument) const { return closed_area().holds(static_cast<uint64_t>(a[argument])); }
};

template <typename T>
T* placed(long address) {
  return reinterpret_cast<T*>(place_in_pools(static_cast<uint64_t>(address)));
}

long plain(const Call& call) {
  return kernel(call.number, call.a[0], call.a[1], call.a[2], call.a[3], call.a[4], call.a[5]);
}

void write_number(char* to, uint64_t value) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

[[noreturn]] void refuse_call(const char* why, long number) {
  char text[21];
  write_number(text, static_cast<uint64_t>(number));
  refuse(why, text);
}

const HarmlessCall* harmless(long number) {
  const auto* const found = std::find_if(std::begin(kHarmless), std::end(kHarmless),
                                         [&](const HarmlessCall& c) { return c.number == number; });
  return found == std::end(kHarmless) ? nullptr : found;
}

// Makes a call that moves bytes between buffers and a file: at `offset`, or at the file's own position (-1).
long transfer(long number, long fd, const iovec* given, long parts, long offset, long flags, bool to_file) {
  if (parts < 0 || parts > kMostParts) refuse("it hands more than 64 buffers to one call");
  iovec moved[kMostParts];
  for (long i = 0; i < parts; ++i) {
    const auto base = reinterpret_cast<uint64_t>(given[i].iov_base);
    moved[i] = {reinterpret_cast<void*>(place_in_pools(base)), given[i].iov_len};
    if (to_file) {
      access_memory(base, given[i].iov_len, false);
    } else {
      open_to_write(base, given[i].iov_len);
    }
  }
  const int image = image_of(fd);
  // Another thread may move the file's position, so the thread takes its turn. For files that are no image no thread
  // waits.
  std::optional<Alone> turn;
  if (image >= 0) turn.emplace();
  long from = offset;
  const bool own_place = offset < 0;
  if (image >= 0 && own_place) from = kernel(SYS_lseek, fd, 0, SEEK_CUR);
  if (image >= 0 && to_file) {
    uint64_t size = 0;
    for (long i = 0; i < parts; ++i) size += given[i].iov_len;
    file_may_change(static_cast<uint32_t>(image), static_cast<uint64_t>(from), size);
  }
  long done = 0;
  if (number == SYS_read || number == SYS_write) {
    done = kernel(number, fd, reinterpret_cast<long>(moved[0].iov_base), static_cast<long>(moved[0].iov_len));
  } else if (number == SYS_pread64 || number == SYS_pwrite64) {
    done = kernel(number, fd, reinterpret_cast<long>(moved[0].iov_base), static_cast<long>(moved[0].iov_len), offset);
  } else {
    done = kernel(number, fd, reinterpret_cast<long>(moved), parts, offset, 0, flags);
  }
  if (done <= 0) return done;
  // With O_APPEND, too, the file's position is behind the written bytes. Such bytes lie behind the end, where no page
  // has to be restored.
  if (image >= 0 && own_place && to_file) from = kernel(SYS_lseek, fd, 0, SEEK_CUR) - done;
  if (image >= 0)
    accessed(static_cast<uint32_t>(image), static_cast<uint64_t>(from), static_cast<uint64_t>(done), to_file);
  long left = done;
  for (long i = 0; i < parts && !to_file && left > 0; ++i) {
    const long piece = std::min(left, static_cast<long>(given[i].iov_len));
    access_memory(reinterpret_cast<uint64_t>(given[i].iov_base), static_cast<uint64_t>(piece), true);
    left -= piece;
  }
  return done;
}

// Makes a call that reads or writes a descriptor, of memory in one piece or in several.
long transfer(const Call& call, const powercut_file_call& known) {
  const bool to_file = known.does == kPowercutWrites;
  const int at = powercut_argument(&known, 'o'), flags = powercut_argument(&known, 'l');
  const long offset = at < 0 ? -1 : call.a[at];
  if (powercut_argument(&known, 'v') < 0) {
    const iovec one = {reinterpret_cast<void*>(call.a[1]), static_cast<size_t>(call.a[2])};
    return transfer(call.number, call.a[0], &one, 1, offset, 0, to_file);
  }
  access_memory(static_cast<uint64_t>(call.a[1]), static_cast<uint64_t>(call.a[2]) * sizeof(iovec), false);
  return transfer(call.number, call.a[0], placed<const iovec>(call.a[1]), call.a[2], offset,
                  flags < 0 ? 0 : call.a[flags], to_file);
}

long map(const Call& call) {
  const auto& [address, length, protection, flags, fd, offset] = call.a;
  const int image = (flags & MAP_ANONYMOUS) != 0 ? -1 : image_of(fd);
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (image < 0) {
    if (fixed && call.in_pool(0)) refuse("it maps something in the place of its pool");
    return plain(call);
  }
  if (fixed || address != 0) {
    const bool moved = (flags & MAP_TYPE) != MAP_PRIVATE &&
                       move_closed_area(static_cast<uint64_t>(address), static_cast<uint64_t>(length));
    // A hint need not be followed. A program that insists on its hint comes to another end, which the engine notices.
    if (!moved && fixed) refuse("it maps its pool at an address of its own choice");
    if (moved) {
      write_filter(kHarmless, std::size(kHarmless));
      if (!install_filter()) refuse("the kernel takes no second filter of its system calls");
    }
  }
  return map_image(static_cast<uint32_t>(image), length, protection, flags & ~(MAP_FIXED | MAP_FIXED_NOREPLACE), fd,
                   offset);
}

// The program's own masks never hold back a signal of this library: a signal that is held back kills the process.
long mask_signals(const Call& call) {
  if (call.a[3] != static_cast<long>(kSignalSet)) return -EINVAL;
  uint64_t now = 0;
  std::memcpy(&now, &call.context->uc_sigmask, kSignalSet);
  const uint64_t before = now;
  if (call.a[1] != 0) {
    uint64_t set = 0;
    std::memcpy(&set, reinterpret_cast<const void*>(call.a[1]), kSignalSet);
    switch (call.a[0]) {
      case SIG_BLOCK:
        now |= set;
        break;
      case SIG_UNBLOCK:
        now &= ~set;
        break;
      case SIG_SETMASK:
        now = set;
        break;
      default:
        return -EINVAL;
    }
    for (const int number : kOurSignals) now &= ~(uint64_t{1} << (number - 1));
    std::memcpy(&call.context->uc_sigmask, &now, kSignalSet);
  }
  if (call.a[2] != 0) std::memcpy(reinterpret_cast<void*>(call.a[2]), &before, kSignalSet);
  return 0;
}

long handle_signal(const Call& call) {
  const bool ours = std::ranges::find(kOurSignals, call.a[0]) != std::end(kOurSignals);
  if (ours && call.a[1] != 0) refuse("it handles the signals of faults itself");
  return plain(call);
}

// Returns whether the opened file is the memory of a process: such a file shows the pools as well.
bool is_memory(long fd) {
  struct statfs system{};
  if (kernel(SYS_fstatfs, fd, reinterpret_cast<long>(&system)) != 0 || system.f_type != PROC_SUPER_MAGIC) return false;
  char link[32] = "/proc/self/fd/";
  write_number(link + std::strlen(link), static_cast<uint64_t>(fd));
  char name[64];
  const long size = kernel(SYS_readlink, reinterpret_cast<long>(link), reinterpret_cast<long>(name), sizeof name);
  return size >= 4 && (size == sizeof name || std::memcmp(name + size - 4, "/mem", 4) == 0);
}

long open_file(const Call& call, long flags) {
  if ((flags & O_TRUNC) != 0) any_page_may_change();
  const long fd = plain(call);
  if (fd >= 0 && is_memory(fd)) refuse("it opens the memory of a process as a file");
  return fd;
}

// Makes a call whose arguments point into the closed area.
long in_pools(Call call) {
  const auto address = static_cast<uint64_t>(call.a[0]), length = static_cast<uint64_t>(call.a[1]);
  switch (call.number) {
    case SYS_munmap:
      return unmap_pools(address, length);
    case SYS_mprotect:
      return protect_pools(address, length, call.a[2]);
    case SYS_madvise:
      if (call.a[2] == MADV_REMOVE) {  // a hole in the file, if the program may write there
        open_to_write(address, length);
        any_page_may_change();
      }
      [[fallthrough]];
    case SYS_msync:
    case SYS_mlock:
    case SYS_munlock:
      call.a[0] = reinterpret_cast<long>(placed<void>(call.a[0]));
      return plain(call);
    case SYS_futex:
      if (call.in_pool(3) || call.in_pool(4)) break;
      access_memory(address, sizeof(int), false);
      open_to_write(address, sizeof(int));
      call.a[0] = reinterpret_cast<long>(placed<void>(call.a[0]));
      return plain(call);
    default:
      break;
  }
  refuse_call("it hands an address of its pool to system call ", call.number);
}

long allocate(const Call& call) {
  // A hole reads as zeroes, which count as bytes that were there; bytes that move would count as other bytes.
  if ((call.a[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0 && image_of(call.a[0]) >= 0) {
    refuse("it moves what its pool holds (COLLAPSE_RANGE or INSERT_RANGE)");
  }
  any_page_may_change();
  return plain(call);
}

// Makes a call on files that is not harmless.
long answer_on_file(const Call& call, const powercut_file_call& known) {
  const int path = powercut_argument(&known, 'p'), flags = powercut_argument(&known, 'l');
  const bool closed_path = path >= 0 && call.in_pool(static_cast<uint32_t>(path));
  switch (powercut_call_does_what(&known)) {
    case kPowercutReads:
    case kPowercutWrites:
      return transfer(call, known);
    case kPowercutMaps:
      return map(call);
    case kPowercutOpens:
      if (closed_path || call.number == SYS_openat2) break;  // openat2: its flags lie in memory
      return open_file(call, flags < 0 ? O_TRUNC : call.a[flags]);
    case kPowercutResizes:
      if (closed_path) break;
      any_page_may_change();
      return plain(call);
    case kPowercutSeeks:
      if (call.a[2] <= SEEK_END || image_of(call.a[0]) < 0) return plain(call);
      refuse("it asks where its pool has data");
    case kPowercutAllocates:
      return allocate(call);
    case kPowercutControls:
      if ((call.a[1] == TCGETS || call.a[1] == TIOCGWINSZ) && !call.in_pool(2)) return plain(call);
      break;
    case kPowercutExecutes:
      refuse("it executes another program");
    default:
      break;
  }
  refuse_call("it makes system call ", call.number);
}

// Makes a call that is neither harmless nor on files.
long answer_other(const Call& call) {
  switch (call.number) {
    case SYS_rt_sigprocmask:
      if (call.in_pool(1) || call.in_pool(2)) break;
      return mask_signals(call);
    case SYS_rt_sigaction:
      if (call.in_pool(1) || call.in_pool(2)) break;
      return handle_signal(call);
    case SYS_prctl:
      if ((call.a[0] == PR_SET_NAME || call.a[0] == PR_GET_NAME || call.a[0] == PR_SET_VMA) && !call.in_pool(1) &&
          !call.in_pool(4)) {
        return plain(call);
      }
      break;
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
      return start_another(call.number, call.a, call.context);
    default:
      break;
  }
  refuse_call("it makes system call ", call.number);
}

long answer(const Call& call) {
  if (const HarmlessCall* known = harmless(call.number)) {
    for (uint32_t i = 0; i < known->arguments; ++i) {
      if (call.in_pool(i)) return in_pools(call);
    }
    return waits(call.number) && has_threads() ? wait_in_kernel(call.number, call.a) : plain(call);
  }
  const powercut_file_call* const known = powercut_file_call_of(static_cast<uint64_t>(call.number));
  return known != nullptr ? answer_on_file(call, *known) : answer_other(call);
}

void called(int number, siginfo_t* info, void* raw) {
  auto* const context = static_cast<ucontext_t*>(raw);
  greg_t* const registers = context->uc_mcontext.gregs;
  if (info->si_code != kOfFilter) {  // another process or thread sent the signal
    default_action(number);
    kernel(SYS_tgkill, kernel(SYS_getpid), kernel(SYS_gettid), number);
    return;
  }
  if (info->si_arch != 0xc000003e) refuse("it makes system calls of another kind of program");
  const Call call = {.number = info->si_syscall,
                     .a = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10],
                           registers[REG_R8], registers[REG_R9]},
                     .context = context};
  registers[REG_RAX] = in_run ? answer(call) : plain(call);
}

}  // namespace

bool prepare_calls() {
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = called;
  sigaction(SIGSYS, &action, nullptr);
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : kOurSignals) sigaddset(&ours, number);
  sigprocmask(SIG_UNBLOCK, &ours, nullptr);
  write_filter(kHarmless, std::size(kHarmless));
  return install_filter();
}

void see_calls() { in_run = true; }

}  // namespace powercut::runtime
