/* libpowercut_fork.so, preloaded into a recovery program: stops the program before main and serves runs from there, so
 * that loading, relocating and constructing are paid for once.
 *
 * Known inaccuracies: constructors run once for all runs, so all runs share the files that they read and a random
 * number that they drew. Threads of constructors do not exist in a run; processes of constructors are killed. A program
 * that does not start through __libc_start_main never serves: the engine notices and starts it for each run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/clock.h"
#include "checker/subjects/program/forkserver/redirect.h"
#include "checker/subjects/program/forkserver/report_reads.h"
#include "checker/subjects/program/forkserver/serve.h"
#include "checker/subjects/program/forkserver/tree_mount.h"
#include "powercut/mark.h"

typedef int main_function(int, char**, char**);
typedef int start_function(main_function*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);

static main_function* real_main;

static int main_of_a_run(int argc, char** argv, char** environment) {
  const char* number = getenv(POWERCUT_FORK_FD);
  const bool traced = getenv(POWERCUT_FORK_TRACED) != NULL;
  /* Where a tracer is expected and does not answer, this process is the program that starts the tracer. */
  if (number != NULL && (!traced || powercut_mark_active())) {
    const int socket = atoi(number);
    /* A program that the recovery starts is no server. */
    unsetenv(POWERCUT_FORK_FD);
    unsetenv(POWERCUT_FORK_TRACED);
    if (getenv(POWERCUT_FORK_TUNED) != NULL) unsetenv(POWERCUT_FORK_TUNABLES);
    unsetenv(POWERCUT_FORK_TUNED);
    if (traced && powercut_mark_request(POWERCUT_MARK_SERVE, 0, 0, 0, 0, 0) == 0) _exit(POWERCUT_FORK_UNTRACED);
    powercut_prepare_redirects();
    powercut_prepare_reads();
    powercut_serve(socket);
    powercut_enter_folder();
    if (traced) powercut_mark_request(POWERCUT_MARK_RUN, 0, 0, 0, 0, 0);
    powercut_begin_reads();
  }
  powercut_notice_clock();
  return real_main(argc, argv, environment);
}

__attribute__((visibility("default"))) int __libc_start_main(main_function* main, int argc, char** argv,
                                                             void (*init)(void), void (*fini)(void),
                                                             void (*rtld_fini)(void), void* stack_end) {
  start_function* start = (start_function*)dlsym(RTLD_NEXT, "__libc_start_main");
  if (start == NULL) _exit(127);
  real_main = main;
  return start(main_of_a_run, argc, argv, init, fini, rtld_fini, stack_end);
}
