/* The output of a run: all bytes are taken and counted, and the first and last part are kept. The code calls no malloc:
 * a run finds the heap as the program's constructors left it, whatever earlier runs printed. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_OUTPUT_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_OUTPUT_H_

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/serve.h"
#include "xxhash.h"

#define POWERCUT_FORK_HALF (POWERCUT_FORK_KEPT / 2)

struct output {
  int fd;
  uint64_t total;
  XXH3_state_t hash;
  XXH3_state_t line; /* of the line at hand */
  int in_line;       /* some bytes of the line were written */
  uint64_t lines[2];
  char head[POWERCUT_FORK_HALF];
  char tail[POWERCUT_FORK_HALF]; /* a ring of the last bytes behind the head */
  char taken[65536];             /* the bytes that were read last */
};

static inline void output_start(struct output* output, int fd) {
  output->fd = fd;
  output->total = 0;
  output->in_line = 0;
  output->lines[0] = output->lines[1] = 0;
  fcntl(fd, F_SETFL, O_NONBLOCK);
}

static inline void output_end_line(struct output* output) {
  const XXH128_hash_t digest = XXH3_128bits_digest(&output->line);
  const uint64_t low = output->lines[0];
  output->lines[0] += digest.low64;
  output->lines[1] += digest.high64 + (output->lines[0] < low);
  output->in_line = 0;
}

static inline void output_put_lines(struct output* output, const char* bytes, size_t size) {
  while (size > 0) {
    const char* end = (const char*)memchr(bytes, '\n', size);
    const size_t part = end == NULL ? size : (size_t)(end - bytes);
    if (!output->in_line) XXH3_128bits_reset(&output->line);
    output->in_line = 1;
    XXH3_128bits_update(&output->line, bytes, part);
    if (end == NULL) return;
    output_end_line(output);
    bytes += part + 1;
    size -= part + 1;
  }
}

static inline void output_put(struct output* output, const char* bytes, size_t size) {
  if (output->total == 0) XXH3_128bits_reset(&output->hash);
  XXH3_128bits_update(&output->hash, bytes, size);
  output_put_lines(output, bytes, size);
  while (size > 0) {
    const uint64_t place = output->total;
    const uint64_t at = place < POWERCUT_FORK_HALF ? place : (place - POWERCUT_FORK_HALF) % POWERCUT_FORK_HALF;
    const size_t room = POWERCUT_FORK_HALF - at;
    const size_t part = room < size ? room : size;
    memcpy((place < POWERCUT_FORK_HALF ? output->head : output->tail) + at, bytes, part);
    bytes += part;
    size -= part;
    output->total += part;
  }
}

/* Takes the bytes that are there. Returns 1 when there were some, 0 when there are none at the moment, -1 when none
 * will come. */
static inline int output_take(struct output* output) {
  const ssize_t size = read(output->fd, output->taken, sizeof output->taken);
  if (size < 0) return errno == EINTR ? 1 : errno == EAGAIN ? 0 : -1;
  if (size == 0) return -1;
  output_put(output, output->taken, (size_t)size);
  return 1;
}

static inline void output_describe(struct output* output, struct powercut_fork_output* told) {
  told->total = output->total;
  told->kept = (uint32_t)(output->total < POWERCUT_FORK_KEPT ? output->total : POWERCUT_FORK_KEPT);
  told->head = told->kept < POWERCUT_FORK_HALF ? told->kept : POWERCUT_FORK_HALF;
  if (output->total == 0) return;
  const XXH128_hash_t digest = XXH3_128bits_digest(&output->hash);
  told->digest[0] = digest.low64;
  told->digest[1] = digest.high64;
  if (output->in_line) output_end_line(output); /* the last one need not have an end */
  told->lines[0] = output->lines[0];
  told->lines[1] = output->lines[1];
}

static inline void output_send(const struct output* output, int socket, void (*send_all)(int, const void*, size_t)) {
  if (output->total <= POWERCUT_FORK_HALF) {
    send_all(socket, output->head, output->total);
    return;
  }
  send_all(socket, output->head, POWERCUT_FORK_HALF);
  if (output->total <= POWERCUT_FORK_KEPT) {
    send_all(socket, output->tail, output->total - POWERCUT_FORK_HALF);
    return;
  }
  const uint64_t oldest = (output->total - POWERCUT_FORK_HALF) % POWERCUT_FORK_HALF;
  send_all(socket, output->tail + oldest, POWERCUT_FORK_HALF - oldest);
  send_all(socket, output->tail, oldest);
}

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_OUTPUT_H_ */
