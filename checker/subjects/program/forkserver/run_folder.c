#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/tree_mount.h"

void powercut_enter_folder(void) {
  const char* folder = getenv(POWERCUT_FORK_FOLDER);
  if (folder == NULL) return;
  if (chdir(folder) != 0) {
    dprintf(STDERR_FILENO, "powercut: the folder in which the command runs is not in the image: %s (%s)\n", folder,
            strerror(errno));
    _exit(127);
  }
  unsetenv(POWERCUT_FORK_FOLDER);
}
