/* powercut-run-server SOCKET PROGRAM [WORD]…: serves runs of a program that cannot be stopped before main, or not
 * usefully: each run executes it anew.
 *
 * powercut-run-server --watched SOCKET all|changes PROGRAM [WORD]…: becomes the program, whose calls on files are told
 * to whoever has the other end of the socket (tracer/other_files/call_filter.h).
 *
 * powercut-run-server --mount … and --inside …: tree_mount.h. Words behind those of --inside are as above. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/serve.h"
#include "checker/subjects/program/forkserver/tree_mount.h"
#include "tracer/other_files/call_filter.h"

extern char** environ;

static int become(char** words) {
  execv(words[0], words);
  dprintf(STDERR_FILENO, "powercut: %s cannot be executed (%s)\n", words[0], strerror(errno));
  _exit(127);
}

static int become_whole(char** words) {
  for (char** at = environ; *at != NULL; ++at) {
    const size_t kept_back = strlen(POWERCUT_FORK_KEPT_BACK);
    if (strncmp(*at, POWERCUT_FORK_KEPT_BACK, kept_back) == 0) *at += kept_back;
  }
  return become(words);
}

static int be_watched(int socket, const char* calls, char** words) {
  const int listener = powercut_tell_file_calls(strcmp(calls, "all") == 0 ? kPowercutToldAll : kPowercutToldChanges);
  powercut_send_listener(socket, listener, errno);
  close(socket);
  if (listener >= 0) close(listener);
  return become_whole(words);
}

int main(int argc, char** argv) {
  char** const end = argv + argc;
  char** word = argv + 1;
  if (end - word == 3 && strcmp(word[0], POWERCUT_TREE_MOUNT) == 0) return powercut_mount_tree(atoi(word[1]), word[2]);
  const bool inside = end - word > 6 && strcmp(word[0], POWERCUT_TREE_INSIDE) == 0;
  if (inside) {
    powercut_enter_tree(atoi(word[1]), atoi(word[2]), atoi(word[3]), word[4], word[5]);
    word += 6;
  }
  if (end - word > 3 && strcmp(word[0], POWERCUT_FORK_WATCHED) == 0) {
    return be_watched(atoi(word[1]), word[2], word + 3);
  }
  if (inside) return become_whole(word);
  if (end - word < 2) {
    fputs("powercut-run-server: powercut-engine starts this program; it is of no use by hand.\n", stderr);
    return 2;
  }
  powercut_serve(atoi(word[0]));
  powercut_enter_folder();
  /* Every run finds its memory at the addresses of the last run. */
  personality(ADDR_NO_RANDOMIZE);
  return become(word + 1);
}
