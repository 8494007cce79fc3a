/* Jobs are files of the folder `todo`, and move to the folder `done`. */
#include "common.h"

static void finish(const char *name) {
  char from[64], to[64];
  snprintf(from, sizeof from, "todo/%s", name);
  snprintf(to, sizeof to, "done/%s", name);
  need(rename(from, to) == 0, "rename");
  if (mended()) sync_folder("todo");
  sync_folder("done");
  acknowledge(name);
}

static void check(const char *name, FILE *dump) {
  char todo[64], done[64];
  snprintf(todo, sizeof todo, "todo/%s", name);
  snprintf(done, sizeof done, "done/%s", name);
  int is_todo = access(todo, F_OK) == 0, is_done = access(done, F_OK) == 0;
  need(is_todo || is_done, "a job is lost");
  need(!is_todo || !is_done, "a job is to do, and is done");
  if (dump) fprintf(dump, "%s\n", is_todo ? todo : done);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  const char *names[] = {"sweep", "wash"};
  if (is(verb, "setup")) {
    mkdir("todo", 0755);
    mkdir("done", 0755);
    close(opened("todo/sweep", O_WRONLY | O_CREAT));
    close(opened("todo/wash", O_WRONLY | O_CREAT));
  }
  for (int i = 0; i < 2; i++) {
    if (is(verb, "run")) finish(names[i]);
    if (is(verb, "check")) check(names[i], NULL);
    if (is(verb, "dump")) check(names[i], stdout);
  }
}
