#define _GNU_SOURCE
#include "tracer/other_files/call_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/file_calls/file_calls.h"

enum {
  kMost = 256,
  kOtherInterface = 0x40000000 /* numbers of x32 calls */
};

struct filter {
  struct sock_filter code[kMost];
  unsigned short size;
};

static void add(struct filter* filter, uint16_t code, uint8_t when_true, uint8_t when_false, uint32_t value) {
  filter->code[filter->size++] = (struct sock_filter){code, when_true, when_false, value};
}

static void load(struct filter* filter, size_t offset) {
  add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void tell(struct filter* filter) { add(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF); }

static void tell_of(struct filter* filter, int number) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)number);
  tell(filter);
}

/* An open that may change something: its flags say so. */
static void tell_of_changing_open(struct filter* filter, int number, int flags_argument) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)number);
  load(filter, offsetof(struct seccomp_data, args) + (size_t)flags_argument * sizeof(uint64_t));
  add(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, O_ACCMODE | O_CREAT | O_TRUNC);
  tell(filter);
  add(filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

/* file_call.cc says what each of the calls does to which names. */
static void tell_of_call(struct filter* filter, const powercut_file_call* call, enum powercut_told_calls told) {
  const int flags = powercut_argument(call, 'l');
  switch (powercut_call_does_what(call)) {
    case kPowercutOpens:
      if (told == kPowercutToldAll || flags < 0) return tell_of(filter, call->number);
      return tell_of_changing_open(filter, call->number, flags);
    case kPowercutResizes:
      if (powercut_argument(call, 'p') >= 0) tell_of(filter, call->number);
      return;
    case kPowercutMakes:
    case kPowercutLinks:
    case kPowercutRenames:
    case kPowercutTakes:
    case kPowercutTakesFolder:
    case kPowercutRings:
    case kPowercutHides:
      return tell_of(filter, call->number);
    case kPowercutLooks:
    case kPowercutLooksAtLink:
    case kPowercutLists:
    case kPowercutExecutes:
      if (told == kPowercutToldAll) tell_of(filter, call->number);
      return;
    default: /* the call names no file: what it is on was opened before */
      return;
  }
}

static int install(const struct sock_fprog* program) {
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW, program);
}

int powercut_tell_file_calls(enum powercut_told_calls told) {
  struct filter filter = {.size = 0};
  /* Calls of 32-bit programs have other numbers: all are told of, and nobody knows what they do. */
  load(&filter, offsetof(struct seccomp_data, arch));
  add(&filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
  tell(&filter);
  load(&filter, offsetof(struct seccomp_data, nr));
  add(&filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, kOtherInterface);
  tell(&filter);
  for (int i = 0; i < kPowercutFileCalls; ++i) tell_of_call(&filter, &powercut_file_calls[i], told);
  add(&filter, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {filter.size, filter.code};
  /* A mighty user needs no promise; for others programs with rights of their own (set-uid) do not get them. */
  const int listener = install(&program);
  if (listener >= 0 || errno != EACCES) return listener;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return install(&program);
}

int powercut_send_listener(int socket, int listener, int error) {
  struct iovec bytes = {&error, sizeof error};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
  if (listener >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof error;
}

int powercut_receive_listener(int socket) {
  int error = ECONNRESET, listener = -1;
  struct iovec bytes = {&error, sizeof error};
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t size;
  while ((size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const struct cmsghdr* const header = size == (ssize_t)sizeof error ? CMSG_FIRSTHDR(&message) : NULL;
  if (header != NULL && header->cmsg_type == SCM_RIGHTS) memcpy(&listener, CMSG_DATA(header), sizeof listener);
  if (listener < 0) errno = size == (ssize_t)sizeof error ? error : ECONNRESET;
  return listener;
}
