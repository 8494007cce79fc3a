/* Programs that mark their operations (test_marks.py). The first argument names the program; each works in the folder
 * of the process. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "powercut/mark.h"

static void put(const char* name) {
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || close(file) != 0) exit(1);
}

static void header(void) {
  static const unsigned char key[] = {0, ' ', '%', 'k', 0xff};
  static char value[3000];
  powercut_mark_begin(POWERCUT_MARK_FORMAT, NULL, 0, NULL, 0);
  put("a");
  errno = 77;
  powercut_mark_end(0, NULL, 0);
  powercut_mark_begin(POWERCUT_MARK_MAINTAIN, NULL, 0, "grow", 4);
  powercut_mark_point("half way");
  powercut_mark_end(2, NULL, 0);
  memset(value, 'v', sizeof value);
  powercut_mark_begin(POWERCUT_MARK_INSERT, key, sizeof key, value, sizeof value);
  powercut_mark_end(7, NULL, 0);
  powercut_mark_begin(POWERCUT_MARK_LOOKUP, "k", 1, NULL, 0);
  powercut_mark_end(0, "v", 1);
  if (errno != 77) exit(2);
}

static pthread_barrier_t turn;
static void* inserts(void* name) {
  pthread_barrier_wait(&turn);
  powercut_mark_begin(POWERCUT_MARK_INSERT, name, 1, NULL, 0);
  put(name);
  pthread_barrier_wait(&turn);
  powercut_mark_end(0, NULL, 0);
  return NULL;
}

static void threads(void) {
  pthread_t all[2];
  pthread_barrier_init(&turn, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&all[i], NULL, inserts, i == 0 ? "a" : "b");
  for (int i = 0; i < 2; ++i) pthread_join(all[i], NULL);
}

static void processes(void) {
  powercut_mark_begin(POWERCUT_MARK_OPEN, NULL, 0, NULL, 0);
  const pid_t child = fork();
  if (child == 0) {
    powercut_mark_begin(POWERCUT_MARK_ERASE, "c", 1, NULL, 0);
    put("a");
    powercut_mark_end(1, NULL, 0);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  powercut_mark_end(0, NULL, 0);
}

static void* ends(void* unused) {
  powercut_mark_end(0, NULL, 0);
  return unused;
}

/* As a runtime does that moves its tasks from thread to thread. */
static void moved(void) {
  pthread_t other;
  powercut_mark_begin(POWERCUT_MARK_INSERT, "k", 1, "v", 1);
  put("a");
  pthread_create(&other, NULL, ends, NULL);
  pthread_join(other, NULL);
}

/* Lines in pieces and several in one write, through a descriptor that stays open. */
static void pieces(void) {
  const int marks = open(getenv("POWERCUT_MARKS"), O_WRONLY | O_TRUNC);
  static const char* const parts[] = {"begin ins", "ert k ", "v\npoint here\nend", " OK\nbegin open\n", "end\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (write(marks, parts[i], strlen(parts[i])) < 0) exit(3);
    if (i == 2) put("a");
  }
}

static void* in_turns(void* name) {
  const int marks = open(getenv("POWERCUT_MARKS"), O_WRONLY | O_APPEND);
  const char* const parts[] = {"begin ", "insert ", name, "\nend\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    pthread_barrier_wait(&turn);
    if (write(marks, parts[i], strlen(parts[i])) < 0) exit(5);
  }
  return NULL;
}

/* Each thread writes a piece of its line before the other writes the next piece of its own. */
static void interleaved(void) {
  pthread_t all[2];
  pthread_barrier_init(&turn, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&all[i], NULL, in_turns, i == 0 ? "a" : "b");
  for (int i = 0; i < 2; ++i) pthread_join(all[i], NULL);
}

static void answers(void) {
  char line[32];
  for (int i = 1; i <= 2; ++i) {
    put(i == 1 ? "a" : "b");
    printf("did %d\n", i);
    fflush(stdout);
  }
  put("c");
  printf("did 3");
  fflush(stdout);
  put("d");
  snprintf(line, sizeof line, "\nnothing\n");
  if (write(1, line, strlen(line)) < 0) exit(4);
  const pid_t child = fork();
  if (child == 0) {
    put("e");
    dprintf(2, "did 4\ndid 5\n");
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"header", header}, {"threads", threads}, {"processes", processes},    {"moved", moved},
                  {"pieces", pieces}, {"answers", answers}, {"interleaved", interleaved}};
  for (size_t i = 0; count == 2 && i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(words[1], programs[i].name) != 0) continue;
    programs[i].run();
    return 0;
  }
  return 64;
}
