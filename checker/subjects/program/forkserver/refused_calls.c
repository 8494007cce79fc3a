/* Calls that tell of a file what no request to its FUSE server does. The kernel answers them from the size that it
 * keeps of each file, or by pages of its cache. They are refused as an old kernel would, and programs then use others.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/tree_mount.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Refuses a call by its number. */
#define CALL(number, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), REFUSE(error)
/* Refuses a call if one of these bits is set in an argument. */
#define CALL_WITH(number, argument, bits, error)                           \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4), LOAD(args[argument]), \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), REFUSE(error), ALLOW

int powercut_refuse_untold_calls(void) {
  struct sock_filter filter[] = {
      LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      ALLOW,
      LOAD(nr),
      CALL(SYS_copy_file_range, ENOSYS),
      CALL(SYS_sendfile, EINVAL),
      CALL(SYS_splice, EINVAL),
      CALL(SYS_io_uring_setup, ENOSYS), /* it makes these calls past the filter */
      CALL_WITH(SYS_statx, 2, AT_STATX_DONT_SYNC, ENOSYS),
      CALL_WITH(SYS_pwritev2, 5, RWF_APPEND, EOPNOTSUPP),
      ALLOW,
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0) return 0;
  /* A mighty user needs no promise; for others programs with rights of their own (set-uid) do not get them. */
  if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}
