/* powercut-run-server SOCKET PROGRAM [WORD]…: serves runs of a program that cannot be stopped before main, or not
 * usefully: each run executes it anew.
 *
 * powercut-run-server --watched SOCKET all|changes PROGRAM [WORD]…: becomes the program, whose calls on files are told
 * to whoever has the other end of the socket (tracer/other_files/call_filter.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/serve.h"
#include "tracer/other_files/call_filter.h"

extern char** environ;

static int become(char** words) {
  execv(words[0], words);
  dprintf(STDERR_FILENO, "powercut: %s cannot be executed (%s)\n", words[0], strerror(errno));
  _exit(127);
}

static int be_watched(int socket, const char* calls, char** words) {
  for (char** at = environ; *at != NULL; ++at) {
    const size_t kept_back = strlen(POWERCUT_FORK_KEPT_BACK);
    if (strncmp(*at, POWERCUT_FORK_KEPT_BACK, kept_back) == 0) *at += kept_back;
  }
  const int listener = powercut_tell_file_calls(strcmp(calls, "all") == 0 ? kPowercutToldAll : kPowercutToldChanges);
  powercut_send_listener(socket, listener, errno);
  close(socket);
  if (listener >= 0) close(listener);
  return become(words);
}

int main(int argc, char** argv) {
  if (argc > 4 && strcmp(argv[1], POWERCUT_FORK_WATCHED) == 0) return be_watched(atoi(argv[2]), argv[3], argv + 4);
  if (argc < 3) {
    fputs("powercut-run-server: powercut-engine starts this program; it is of no use by hand.\n", stderr);
    return 2;
  }
  powercut_serve(atoi(argv[1]));
  /* Every run finds its memory at the addresses of the last run. */
  personality(ADDR_NO_RANDOMIZE);
  return become(argv + 2);
}
