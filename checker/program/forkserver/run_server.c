/* powercut-run-server SOCKET PROGRAM [WORD]…: serves runs of a program that cannot be stopped before main, or not
 * usefully: each run executes it anew. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "checker/program/forkserver/serve.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("powercut-run-server: powercut-engine starts this program; it is of no use by hand.\n", stderr);
    return 2;
  }
  powercut_serve(atoi(argv[1]));
  /* Every run finds its memory where the last one did. */
  personality(ADDR_NO_RANDOMIZE);
  execv(argv[2], argv + 2);
  dprintf(STDERR_FILENO, "powercut: %s cannot be executed (%s)\n", argv[2], strerror(errno));
  _exit(127);
}
