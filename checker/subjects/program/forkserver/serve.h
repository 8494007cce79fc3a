/* Runs of one command, one fork each, on request: the server's half of the pipe between the engine and the process
 * that its runs are copies of.
 *
 * Two kinds of processes serve. A recovery program that libpowercut_fork.so stopped before main is one: a run goes on
 * into main. For programs that cannot be preloaded, a child of the engine serves: a run executes the command anew.
 *
 * A run has a process group of its own, dies with the server, and leaves no process. Each process that a run started,
 * in whatever session, becomes a child of the server once its parent is gone (PR_SET_CHILD_SUBREAPER), and is killed.
 * When the engine dies, the server's end of the pipe closes: the server kills the run at hand and ends. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_SERVE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_SERVE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Environment of a program that is to serve: the number of its end of the stream socket, and the pools' recorded
 * paths and images, "path US image RS path US image …" (ASCII separators). */
#define POWERCUT_FORK_FD "POWERCUT_FORK_FD"
#define POWERCUT_FORK_POOLS "POWERCUT_FORK_POOLS"
/* A file that a run makes when the run, or a child of it, asks for the time. If the file exists and holds a number, the
 * run is told a time that many seconds later. */
#define POWERCUT_FORK_CLOCK "POWERCUT_FORK_CLOCK"
/* Set where a program is to serve only under a tracer that records its reads. A program that cannot serve then ends
 * with this status: its constructors have used a pool. */
#define POWERCUT_FORK_TRACED "POWERCUT_FORK_TRACED"
#define POWERCUT_FORK_UNTRACED 126
/* A descriptor of the memory in which each run reports its reads (tracer/runtime/reads/read_log.h); not set where no
 * run reports. */
#define POWERCUT_FORK_READS "POWERCUT_FORK_READS"
/* Set where the engine has set the C library's POWERCUT_FORK_TUNABLES: a heap of some size comes in pages of 2 MiB, and
 * a run takes few faults for it where it took thousands. Runs see neither. */
#define POWERCUT_FORK_TUNED "POWERCUT_FORK_TUNED"
#define POWERCUT_FORK_TUNABLES "GLIBC_TUNABLES"
#define POWERCUT_FORK_HUGE_HEAP "glibc.malloc.hugetlb=1"
/* First word of powercut-run-server where it only installs the filter of call_filter.h, hands over the listener, and
 * becomes the program of its other words. The prefix of a variable's name is taken away before that. */
#define POWERCUT_FORK_WATCHED "--watched"
#define POWERCUT_FORK_KEPT_BACK "POWERCUT_FORK_THEN_"
#define POWERCUT_FORK_US '\x1f'
#define POWERCUT_FORK_RS '\x1e'

#define POWERCUT_FORK_MAGIC 0x32464350u /* "PCF2": a change of the structures below changes it */

/* Bytes of each output that are sent: half of them from its begin, half from its end. */
#define POWERCUT_FORK_KEPT 65536

/* First word of the server, then of every request and reply: the magic. */
struct powercut_fork_request {
  uint32_t magic;
  uint32_t timeout_ms; /* of the run; then it is killed */
};

enum {
  POWERCUT_FORK_TIMED_OUT = 1,
  POWERCUT_FORK_LEFT_PROCESSES = 2, /* the run ended before processes that it had started; these were killed */
  POWERCUT_FORK_FAILED = 4,         /* there was no run: `status` is an errno */
};

struct powercut_fork_output {
  uint64_t total;     /* bytes written */
  uint64_t digest[2]; /* XXH3-128 of all bytes */
  uint64_t lines[2];  /* the sum of the XXH3-128 of each line: the same in whatever order the lines come */
  uint32_t kept;      /* bytes that follow the reply: all, or head and tail without the bytes between */
  uint32_t head;      /* kept bytes that are from the start */
};

struct powercut_fork_reply {
  uint32_t magic;
  uint32_t flags;
  int32_t status; /* as waitpid() gives it */
  uint32_t microseconds;
  struct powercut_fork_output out, err; /* out's bytes come first */
};

/* Serves until the engine closes `socket`, and then does not return. Returns in each run, with standard input empty,
 * both outputs connected, and `socket` closed. */
void powercut_serve(int socket);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_SERVE_H_ */
