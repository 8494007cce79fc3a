/* scripted_recovery FOLDER SEED QUESTIONS[:CALLS] PATH…: a recovery that a seed scripts
 * (replayer/media/files/scripted_reader.py). Each answer decides the next question, and the last one whether recovery
 * succeeds: one transcript in five fails. A recovery that succeeds makes CALLS calls, which the transcript decides.
 * With THREADS in the environment a thread of its own asks each question. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, SECTORS = 4, MOST = 64 };

static char text[1 << 20];
static struct {
  char question[64], answer[SECTOR * 2 + 64];
} told[MOST];
static int asked;

static const char* answered(const char* question) {
  for (int i = 0; i < asked; i++) {
    if (strcmp(told[i].question, question) == 0) return told[i].answer;
  }
  return NULL;
}

static int by_name(const void* one, const void* other) { return strcmp(*(char* const*)one, *(char* const*)other); }

static void list(const char* path, char* out) {
  DIR* folder = opendir(*path ? path : ".");
  char* names[MOST];
  int count = 0;
  for (struct dirent* entry; folder && (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names[count++] = strdup(entry->d_name);
  }
  qsort(names, (size_t)count, sizeof *names, by_name);
  for (int i = 0; i < count; i++) strcat(strcat(out, names[i]), "/");
}

/* Asks for the kind alone: stat() would ask for the size as well. */
static void name(const char* path, char* out) {
  const int there = open(path, O_PATH | O_NOFOLLOW);
  if (there < 0) {
    strcpy(out, errno == ENOENT ? "nothing" : "bad");
    return;
  }
  strcpy(out, open(path, O_PATH | O_DIRECTORY) >= 0 ? "folder" : "file");
}

static void sector(const char* path, long number, char* out) {
  unsigned char bytes[SECTOR];
  const int file = open(path, O_RDONLY);
  const long size = file < 0 ? -1 : pread(file, bytes, SECTOR, number * SECTOR);
  close(file);
  if (size <= 0) strcpy(out, size == 0 ? "end" : "error");
  for (long i = 0; i < size; i++) sprintf(out + 2 * i, "%02x", bytes[i]);
}

static void ask(const char* question) {
  char* answer = told[asked].answer;
  char what[16] = "", path[48] = "";
  long number = 0;
  sscanf(question, "%15s %47s %ld", what, path, &number);
  strcpy(told[asked].question, question);
  if (strcmp(what, "names") == 0) list(path, answer);
  if (strcmp(what, "name") == 0) name(path, answer);
  if (strcmp(what, "sector") == 0) sector(path, number, answer);
  if (strcmp(what, "size") == 0) {
    struct stat status;
    sprintf(answer, "%ld", stat(path, &status) == 0 ? (long)status.st_size : -1L);
  }
  asked++;
}

static void* thread(void* question) {
  ask(question);
  return NULL;
}

static void ask_by_thread(const char* question) {
  pthread_t other;
  if (pthread_create(&other, NULL, thread, (void*)question) != 0) abort();
  pthread_join(other, NULL);
}

static char choices[MOST * 8][64];
static int count;

static void may_ask(const char* question) {
  if (answered(question) == NULL) strcpy(choices[count++], question);
}

/* Makes one call on the paths, which change the folder or fail. */
static void change(uint64_t hash, int paths, char** path) {
  const char *one = path[hash / 8 % (unsigned)paths], *other = path[hash / 64 % (unsigned)paths];
  char bytes[SECTOR];
  memset(bytes, 'a' + (int)(hash / 1024 % 26), SECTOR);
  const int what = (int)(hash % 5), flags[] = {O_WRONLY | O_CREAT, O_RDONLY, O_WRONLY | O_TRUNC};
  const int file = what < 3 ? open(one, flags[what], 0644) : -1;
  if (what == 0) pwrite(file, bytes, SECTOR, SECTOR * (off_t)(hash / 512 % 2));
  if (what == 1) fsync(file);
  if (what == 3) rename(one, other);
  if (what == 4) unlink(one);
  if (file >= 0) close(file);
}

int main(int words, char** word) {
  if (words < 4 || chdir(word[1]) != 0) return 2;
  const uint64_t seed = strtoull(word[2], NULL, 10);
  int questions = 0, calls = 0;
  sscanf(word[3], "%d:%d", &questions, &calls);
  uint64_t hash = 0;
  for (;;) {
    hash = 14695981039346656037u + seed;
    for (const char* at = text; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    if (asked == questions) break;
    count = 0;
    char line[64];
    may_ask("names ");
    for (int i = 4; i < words; i++) {
      char folder[64] = "";
      const char* slash = strrchr(word[i], '/');
      if (slash) snprintf(folder, sizeof folder, "name %.*s", (int)(slash - word[i]), word[i]);
      const char* above = slash ? answered(folder) : "folder";
      snprintf(line, sizeof line, "name %s", word[i]);
      const char* kind = answered(line);
      if (above && strcmp(above, "folder") == 0) may_ask(line);
      if (kind && strcmp(kind, "folder") == 0) snprintf(line, sizeof line, "names %s", word[i]), may_ask(line);
      if (!kind || strcmp(kind, "file") != 0) continue;
      snprintf(line, sizeof line, "size %s", word[i]);
      may_ask(line);
      for (int each = 0; each < SECTORS; each++) {
        snprintf(line, sizeof line, "sector %s %d", word[i], each);
        may_ask(line);
      }
    }
    if (count == 0) break;
    const char* question = choices[(hash >> 33) % (unsigned)count];
    getenv("THREADS") ? ask_by_thread(question) : ask(question);
    sprintf(text + strlen(text), "%s=%s;", told[asked - 1].question, told[asked - 1].answer);
  }
  if ((hash >> 40) % 5 == 0) return 1;
  for (int i = 0; i < calls; i++) change((hash = hash * 1099511628211u + 1) >> 20, words - 4, word + 4);
  return 0;
}
