/* Calls that store what they tell through a pointer: each into a page of the pool. The names of the calls are printed
 * in the order of their pages; a page whose call stored nothing is an error. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 64 };

static char* pool;
static int page;

static void* here(void) { return pool + page * kPage; }

/* One call: `expression` has stored to `to`, a page of its own. */
#define TOLD(name, expression)                  \
  do {                                          \
    void* const to = here();                    \
    if (!(expression)) {                        \
      fprintf(stderr, "%s has failed\n", name); \
      return 3;                                 \
    }                                           \
    printf("%s\n", name);                       \
    ++page;                                     \
  } while (0)

static pid_t child(void) {
  const pid_t pid = fork();
  if (pid == 0) _exit(7);
  return pid;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, kPage * kPages) != 0) return 2;
  pool = mmap(NULL, kPage * kPages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) return 2;
  int ends[2], sockets[2];
  if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0) return 2;
  const time_t when = 1000000000;
  TOLD("clock_gettime", clock_gettime(CLOCK_REALTIME, to) == 0);
  TOLD("clock_getres", clock_getres(CLOCK_REALTIME, to) == 0);
  TOLD("gettimeofday", gettimeofday(to, NULL) == 0);
  TOLD("timespec_get", timespec_get(to, TIME_UTC) == TIME_UTC);
  TOLD("time", time(to) > 0);
  TOLD("times", times(to) != (clock_t)-1);
  TOLD("gmtime_r", gmtime_r(&when, to) != NULL);
  TOLD("localtime_r", localtime_r(&when, to) != NULL);
  TOLD("getrandom", getrandom(to, 24, 0) == 24);
  TOLD("getentropy", getentropy(to, 24) == 0);
  TOLD("rand_r", rand_r(to) >= 0);
  TOLD("stat", stat(argv[1], to) == 0);
  TOLD("fstat", fstat(fd, to) == 0);
  TOLD("lstat", lstat(argv[1], to) == 0);
  TOLD("fstatat", fstatat(AT_FDCWD, argv[1], to, 0) == 0);
  TOLD("statx", statx(AT_FDCWD, argv[1], 0, STATX_BASIC_STATS, to) == 0);
  TOLD("statfs", statfs(argv[1], to) == 0);
  TOLD("fstatvfs", fstatvfs(fd, to) == 0);
  TOLD("getcwd", getcwd(to, kPage) != NULL);
  TOLD("realpath", realpath(argv[1], to) != NULL);
  TOLD("readlink", readlink("/proc/self/exe", to, kPage) > 0);
  TOLD("pipe", pipe(to) == 0);
  TOLD("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, to) == 0);
  if (write(ends[1], "some\n", 5) != 5) return 2;
  TOLD("ioctl", ioctl(ends[0], FIONREAD, to) == 0);
  struct pollfd* const polled = here();
  *polled = (struct pollfd){ends[0], POLLIN, 0};
  TOLD("poll", poll(to, 1, 0) == 1);
  fd_set* const set = here();
  FD_SET(ends[0], set);
  FD_SET(sockets[0], set);
  TOLD("select", select(ends[0] + sockets[0], to, NULL, NULL, NULL) == 1);
  const int events = epoll_create1(0);
  struct epoll_event wanted = {EPOLLIN, {.u64 = 77}};
  if (epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &wanted) != 0) return 2;
  TOLD("epoll_wait", epoll_wait(events, to, 1, 0) == 1);
  FILE* const stream = fdopen(ends[0], "r");
  TOLD("fgets", fgets(to, 100, stream) != NULL);
  FILE* const file = fopen(argv[0], "r");
  TOLD("fread", fread(to, 1, 1000, file) == 1000);
  if (send(sockets[0], "datagram", 8, 0) != 8) return 2;
  TOLD("recvfrom", recvfrom(sockets[1], to, 100, 0, NULL, NULL) == 8);
  if (send(sockets[0], "datagram", 8, 0) != 8) return 2;
  struct iovec part = {(char*)here() + 512, 100};
  struct msghdr* const message = here();
  message->msg_iov = &part;
  message->msg_iovlen = 1;
  TOLD("recvmsg", recvmsg(sockets[1], to, 0) == 8);
  socklen_t length = 100;
  TOLD("getsockname", getsockname(sockets[0], to, &length) == 0);
  length = 4;
  TOLD("getsockopt", getsockopt(sockets[0], SOL_SOCKET, SO_TYPE, to, &length) == 0);
  TOLD("waitpid", waitpid(child(), to, 0) > 0);
  TOLD("wait4", wait4(child(), to, 0, (struct rusage*)((char*)to + 512)) > 0);
  TOLD("waitid", waitid(P_PID, (id_t)child(), to, WEXITED) == 0);
  TOLD("uname", uname(to) == 0);
  TOLD("gethostname", gethostname(to, 200) == 0);
  TOLD("sysinfo", sysinfo(to) == 0);
  TOLD("getrusage", getrusage(RUSAGE_SELF, to) == 0);
  TOLD("getrlimit", getrlimit(RLIMIT_NOFILE, to) == 0);
  TOLD("sched_getaffinity", sched_getaffinity(0, 128, to) == 0);
  TOLD("inet_pton", inet_pton(AF_INET, "1.2.3.4", to) == 1);
  const int counter = eventfd(5, 0);
  TOLD("eventfd_read", eventfd_read(counter, to) == 0);
  TOLD("strftime", strftime(to, 100, "%Y", gmtime(&when)) == 4);
  return 0;
}
