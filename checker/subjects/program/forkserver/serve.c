#define _GNU_SOURCE
#include "checker/subjects/program/forkserver/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include "checker/subjects/program/forkserver/output.h"
#include "powercut/mark.h"

/* Nobody is left to tell when the engine is gone. */
static void send_all(int socket, const void* data, size_t size) {
  const char* at = data;
  while (size > 0) {
    const ssize_t done = send(socket, at, size, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    at += done;
    size -= (size_t)done;
  }
}

static bool receive_all(int socket, void* data, size_t size) {
  char* at = data;
  while (size > 0) {
    const ssize_t done = recv(socket, at, size, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= (size_t)done;
  }
  return true;
}

static uint64_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Kills the children that this process has now. Their children become children of this process. */
static void kill_children(void) {
  char path[64], list[4096];
  snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)syscall(SYS_gettid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t size = read(fd, list, sizeof list - 1);
  close(fd);
  if (size <= 0) return;
  list[size] = '\0';
  char* at = list;
  for (;;) {
    char* end = at;
    const long pid = strtol(at, &end, 10);
    /* A number that the buffer's end cut off names another process: it is there again next time. */
    if (end == at || *end == '\0') return;
    kill((pid_t)pid, SIGKILL);
    at = end;
  }
}

/* Waits for and kills all that is left of a run. Returns whether something had to be killed. */
static bool reap_all(void) {
  bool any = false;
  for (;;) {
    int status;
    const pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
    if (pid < 0) return any; /* ECHILD: none left */
    /* The run's own group was killed before. */
    if (pid > 0) {
      any = any || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      continue;
    }
    any = true;
    kill_children();
    const struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
  }
}

/* An empty file: standard input of the runs. */
static int nothing = -1;

static void be_the_run(int socket, pid_t server, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server) _exit(127);
  setpgid(0, 0);
  close(socket);
  dup2(nothing, STDIN_FILENO);
  close(nothing);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
}

static bool has_ended(pid_t pid) {
  siginfo_t ended = {0};
  return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == pid;
}

/* Follows the run to its end or its time limit. */
static void watch(int socket, pid_t pid, uint64_t limit_us, struct output* outputs, struct powercut_fork_reply* reply) {
  /* Valgrind 3.19 does not know pidfd_open, and says so. */
  const int process = powercut_mark_active() ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
  struct pollfd polled[4] = {
      {process, POLLIN, 0}, {socket, POLLRDHUP, 0}, {outputs[0].fd, POLLIN, 0}, {outputs[1].fd, POLLIN, 0}};
  bool killed = false;
  for (;;) {
    const uint64_t now = now_us();
    if (now >= limit_us && !killed) {
      reply->flags |= POWERCUT_FORK_TIMED_OUT;
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL); /* the run may have left its group */
      killed = true;
    }
    uint64_t rest = killed ? 1000000 : limit_us - now;
    if (process < 0) {
      /* The ends of the outputs show the end of the run, unless another process has the outputs. */
      const uint64_t look = polled[2].fd < 0 && polled[3].fd < 0 ? 200 : 10000;
      rest = rest < look ? rest : look;
    }
    const struct timespec wait = {(time_t)(rest / 1000000), (long)(rest % 1000000) * 1000};
    if (ppoll(polled, 4, &wait, NULL) < 0) continue;
    if (polled[1].revents != 0) { /* the engine is gone */
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      reap_all();
      _exit(0);
    }
    for (int i = 0; i < 2; ++i) {
      if (polled[2 + i].revents != 0 && output_take(&outputs[i]) < 0) polled[2 + i].fd = -1;
    }
    if (process < 0 ? has_ended(pid) : polled[0].revents != 0) break;
  }
  int status = 0;
  while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
  }
  reply->status = status;
  if (process >= 0) close(process);
  kill(-pid, SIGKILL);
  if (reap_all() && !(reply->flags & POWERCUT_FORK_TIMED_OUT)) reply->flags |= POWERCUT_FORK_LEFT_PROCESSES;
  for (int i = 0; i < 2; ++i) {
    while (output_take(&outputs[i]) > 0) {
    }
  }
}

/* The server's own memory: no run has it, so a write to it during a run copies no page. */
static struct output* outputs;

/* Returns true in the run. */
static bool serve_one(int socket, pid_t self, const struct powercut_fork_request* request) {
  struct powercut_fork_reply reply = {.magic = POWERCUT_FORK_MAGIC};
  const uint64_t begin = now_us();
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  const bool piped = pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;
  const pid_t pid = piped ? fork() : -1;
  if (pid == 0) {
    close(out[0]);
    close(err[0]);
    be_the_run(socket, self, out[1], err[1]);
    return true;
  }
  if (pid < 0) {
    reply.flags = POWERCUT_FORK_FAILED;
    reply.status = errno;
  }
  close(out[1]);
  close(err[1]);
  output_start(&outputs[0], out[0]);
  output_start(&outputs[1], err[0]);
  if (pid > 0) {
    setpgid(pid, pid);
    watch(socket, pid, begin + (uint64_t)request->timeout_ms * 1000, outputs, &reply);
  }
  close(out[0]);
  close(err[0]);
  output_describe(&outputs[0], &reply.out);
  output_describe(&outputs[1], &reply.err);
  reply.microseconds = (uint32_t)(now_us() - begin);
  send_all(socket, &reply, sizeof reply);
  for (int i = 0; i < 2; ++i) output_send(&outputs[i], socket, send_all);
  return false;
}

void powercut_serve(int socket) {
  const uint32_t magic = POWERCUT_FORK_MAGIC;
  const pid_t self = getpid();
  /* Runs wait for their own children as they would anywhere, whatever a constructor chose. */
  struct sigaction usual = {.sa_handler = SIG_DFL}, chosen;
  sigaction(SIGCHLD, &usual, &chosen);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const size_t size = 2 * sizeof *outputs;
  outputs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (outputs == MAP_FAILED) _exit(0); /* the engine says that no run could be started */
  madvise(outputs, size, MADV_DONTFORK);
  /* Above the numbers that programs count on, as the socket is. */
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  nothing = fcntl(opened, F_DUPFD_CLOEXEC, socket);
  close(opened);
  send_all(socket, &magic, sizeof magic);
  struct powercut_fork_request request;
  while (receive_all(socket, &request, sizeof request) && request.magic == magic) {
    if (serve_one(socket, self, &request)) {
      sigaction(SIGCHLD, &chosen, NULL);
      return;
    }
  }
  reap_all();
  _exit(0);
}
