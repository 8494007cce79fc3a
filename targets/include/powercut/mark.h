/* The history of a program for powercut: where its operations begin and end, and what they answered. Header only.
 *
 *   powercut_mark_begin(POWERCUT_INSERT, key, key_size, value, value_size);
 *   int status = my_insert(...);
 *   powercut_mark_end(status, NULL, 0);
 *
 * Under the Valgrind tool of powercut these are client requests; in a program that was built with `powercut cc` they
 * are calls of the tracer's runtime. `powercut record --files` takes them as lines of the file that POWERCUT_MARKS
 * names. Natively they are a few instructions that do nothing. C and C++. */
#ifndef POWERCUT_MARK_H_
#define POWERCUT_MARK_H_

/* Numbers of the client requests. */
#define POWERCUT_MARK_BASE ((unsigned int)('P' << 24 | 'W' << 16))
#define POWERCUT_MARK_ACTIVE (POWERCUT_MARK_BASE + 0)
#define POWERCUT_MARK_BEGIN (POWERCUT_MARK_BASE + 1)
#define POWERCUT_MARK_END (POWERCUT_MARK_BASE + 2)
#define POWERCUT_MARK_POINT (POWERCUT_MARK_BASE + 3)
#define POWERCUT_MARK_POOL (POWERCUT_MARK_BASE + 4)
#define POWERCUT_MARK_PHASE (POWERCUT_MARK_BASE + 5)
#define POWERCUT_MARK_CUT (POWERCUT_MARK_BASE + 6)
#define POWERCUT_MARK_POOLS_END (POWERCUT_MARK_BASE + 7)
/* The process that recoveries are forks of: its children are runs from now on (0: they cannot be); a run begins. */
#define POWERCUT_MARK_SERVE (POWERCUT_MARK_BASE + 8)
#define POWERCUT_MARK_RUN (POWERCUT_MARK_BASE + 9)

/* Kinds of operations (tracer/FORMAT.md). The value of a maintenance operation is its command. */
enum powercut_mark_kind {
  POWERCUT_MARK_FORMAT = 1,
  POWERCUT_MARK_OPEN = 2,
  POWERCUT_MARK_INSERT = 3,
  POWERCUT_MARK_UPDATE = 4,
  POWERCUT_MARK_ERASE = 5,
  POWERCUT_MARK_LOOKUP = 6,
  POWERCUT_MARK_MAINTAIN = 7,
  POWERCUT_MARK_CLOSE = 8
};

/* A tracer needs the numbers alone, and may have no C library. */
#ifndef POWERCUT_MARK_NUMBERS_ONLY

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Valgrind's client request: four rotations that change nothing and an exchange of a register with itself. */
static inline unsigned long powercut_mark_request(unsigned long request, unsigned long a, unsigned long b,
                                                  unsigned long c, unsigned long d, unsigned long e) {
  volatile unsigned long arguments[6];
  unsigned long answer = 0;
  arguments[0] = request;
  arguments[1] = a;
  arguments[2] = b;
  arguments[3] = c;
  arguments[4] = d;
  arguments[5] = e;
  __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
                   : "+d"(answer)
                   : "a"(arguments)
                   : "cc", "memory");
  return answer;
}

/* Not 0 under the Valgrind tool. */
static inline int powercut_mark_active(void) { return powercut_mark_request(POWERCUT_MARK_ACTIVE, 0, 0, 0, 0, 0) != 0; }

#ifdef __cplusplus
extern "C" {
#endif
/* In the tracer's runtime; null in a program that is not linked with it. */
__attribute__((weak)) void __powercut_mark_begin(unsigned kind, const void* key, unsigned long key_size,
                                                 const void* value, unsigned long value_size);
__attribute__((weak)) void __powercut_mark_end(unsigned status, const void* value, unsigned long size);
__attribute__((weak)) void powercut_mark(const char* name);
#ifdef __cplusplus
}
#endif

/* A line of the file that POWERCUT_MARKS names (docs/files-marks.md). A long line is several writes. */
struct powercut_mark_line {
  int file, saved; /* errno of the program */
  unsigned used;
  char text[1024];
};

static inline void powercut_mark_flush(struct powercut_mark_line* line) {
  const char* at = line->text;
  while (line->used != 0) {
    const ssize_t done = write(line->file, at, line->used);
    if (done < 0 && errno == EINTR) continue;
    at += done;
    line->used = done > 0 ? line->used - (unsigned)done : 0;
  }
}

static inline void powercut_mark_put(struct powercut_mark_line* line, char letter) {
  if (line->used == sizeof line->text) powercut_mark_flush(line);
  line->text[line->used++] = letter;
}

/* A word behind the words before it. */
static inline void powercut_mark_word(struct powercut_mark_line* line, const void* data, unsigned long size) {
  const unsigned char* const bytes = (const unsigned char*)data;
  unsigned long i = 0;
  powercut_mark_put(line, ' ');
  for (; i < size; ++i) {
    if (bytes[i] > ' ' && bytes[i] < 127 && bytes[i] != '%') {
      powercut_mark_put(line, (char)bytes[i]);
      continue;
    }
    powercut_mark_put(line, '%');
    powercut_mark_put(line, "0123456789ABCDEF"[bytes[i] >> 4]);
    powercut_mark_put(line, "0123456789ABCDEF"[bytes[i] & 15]);
  }
}

/* The file is opened for each line: the program may close all descriptors. Returns 0 if there is none. */
static inline int powercut_mark_open(struct powercut_mark_line* line, const char* verb) {
  static char path[4096];
  static int known; /* 1: there is a file, 2: there is none */
  int now = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (now == 0) {
    const char* const named = getenv("POWERCUT_MARKS");
    unsigned i = 0;
    for (; named && named[i] && i + 1 < sizeof path; ++i) path[i] = named[i];
    now = i != 0 ? 1 : 2;
    __atomic_store_n(&known, now, __ATOMIC_RELEASE);
  }
  if (now == 2) return 0;
  line->used = 0;
  line->saved = errno;
  line->file = open(path, O_WRONLY | O_APPEND);
  if (line->file < 0) line->file = 2; /* people see marks that nobody takes */
  while (*verb) powercut_mark_put(line, *verb++);
  return 1;
}

static inline unsigned long powercut_mark_length(const char* text) {
  unsigned long size = 0;
  while (text[size]) ++size;
  return size;
}

static inline void powercut_mark_close(struct powercut_mark_line* line) {
  powercut_mark_put(line, '\n');
  powercut_mark_flush(line);
  if (line->file != 2) close(line->file);
  errno = line->saved;
}

static inline void powercut_mark_write_begin(unsigned kind, const void* key, unsigned long key_size, const void* value,
                                             unsigned long value_size) {
  static const char* const kinds[] = {"", "format", "open", "insert", "update", "erase", "lookup", "maintain", "close"};
  struct powercut_mark_line line;
  if (kind >= sizeof kinds / sizeof *kinds || !powercut_mark_open(&line, "begin")) return;
  powercut_mark_word(&line, kinds[kind], powercut_mark_length(kinds[kind]));
  if (kind == POWERCUT_MARK_MAINTAIN) {
    unsigned long size = 0;
    while (size < value_size && ((const char*)value)[size]) ++size;
    powercut_mark_word(&line, value, size);
  } else {
    powercut_mark_word(&line, key, key_size);
    powercut_mark_word(&line, value, value_size);
  }
  powercut_mark_close(&line);
}

static inline void powercut_mark_write_end(unsigned status, const void* value, unsigned long size) {
  char digits[3];
  struct powercut_mark_line line;
  if (!powercut_mark_open(&line, "end")) return;
  digits[0] = (char)('0' + status / 100 % 10);
  digits[1] = (char)('0' + status / 10 % 10);
  digits[2] = (char)('0' + status % 10);
  powercut_mark_word(&line, digits, 3);
  powercut_mark_word(&line, value, size);
  powercut_mark_close(&line);
}

static inline void powercut_mark_write_point(const char* name) {
  struct powercut_mark_line line;
  if (!powercut_mark_open(&line, "point")) return;
  powercut_mark_word(&line, name, powercut_mark_length(name));
  powercut_mark_close(&line);
}

/* An operation begins. A key or value that there is not: null and 0. */
static inline void powercut_mark_begin(unsigned kind, const void* key, unsigned long key_size, const void* value,
                                       unsigned long value_size) {
  if (__powercut_mark_begin) __powercut_mark_begin(kind, key, key_size, value, value_size);
  powercut_mark_write_begin(kind, key, key_size, value, value_size);
  powercut_mark_request(POWERCUT_MARK_BEGIN, kind, (unsigned long)key, key_size, (unsigned long)value, value_size);
}

/* It ended with `status` (powercut_status of powercut/target.h; 0 is success); a lookup has returned `value`. */
static inline void powercut_mark_end(unsigned status, const void* value, unsigned long size) {
  if (__powercut_mark_end) __powercut_mark_end(status, value, size);
  powercut_mark_write_end(status, value, size);
  powercut_mark_request(POWERCUT_MARK_END, status, (unsigned long)value, size, 0, 0);
}

/* Names a place of the program. */
static inline void powercut_mark_point(const char* name) {
  if (powercut_mark) powercut_mark(name);
  powercut_mark_write_point(name);
  powercut_mark_request(POWERCUT_MARK_POINT, (unsigned long)name, 0, 0, 0, 0);
}

/* Tells where persistent memory lies that is no mapping of a --pool file. For the Valgrind tool; see powercut/trace.h
 * for programs that were built with `powercut cc`. */
static inline void powercut_mark_pool(void* address, unsigned long size) {
  powercut_mark_request(POWERCUT_MARK_POOL, (unsigned long)address, size, 0, 0, 0);
}

#endif /* POWERCUT_MARK_NUMBERS_ONLY */
#endif /* POWERCUT_MARK_H_ */
