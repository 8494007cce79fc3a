/* The report of a recovery's run about its reads, written while the run goes on: memory that the run shares with the
 * engine. The outcome of the run depends on the bytes that it read before it overwrote them, in the order of their
 * first reads. The pages that the run may have changed are the pages to restore.
 *
 * The engine says first which pages of the images may differ from image to image. Only these pages are followed: bytes
 * that all images have alike tell no image from another.
 *
 * An entry holds bytes of a line that nothing in this process accessed before: `mask` has a bit for each byte. The
 * entries of a line therefore have disjoint masks, and the number of entries is bounded by the bytes that are accessed.
 * A child of the run adds entries of its own, with bytes that its parent may have reported. */
#ifndef POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_
#define POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A change of the layout below, or of its meaning, is a new version. */
#define POWERCUT_READ_LOG_VERSION 3u

#define POWERCUT_READ_LOG_ENTRIES (1u << 20)
#define POWERCUT_READ_LOG_PAGES (1u << 16)
#define POWERCUT_READ_LOG_PAGE 4096u /* bytes */

enum powercut_read_log_state {
  kPowercutReadsNone = 0,     /* the run never began to report */
  kPowercutReadsFollowed = 1, /* the log has all that the run has accessed until now */
  kPowercutReadsRefused = 2,  /* the run did something that cannot be followed; `why` says what */
};

typedef struct powercut_read_entry {
  uint32_t line; /* of the image's file: its offset / 64 */
  uint16_t image;
  uint16_t written; /* 1: the bytes were overwritten before anything read them */
  uint64_t mask;
} powercut_read_entry;

typedef struct powercut_image_page {
  uint32_t image, page; /* the file's bytes from page * POWERCUT_READ_LOG_PAGE on */
} powercut_image_page;

typedef struct powercut_read_log {
  /* Written by the engine before the program starts. `followed` POWERCUT_READ_LOG_PAGES + 1: all pages are followed. */
  uint32_t followed;
  powercut_image_page pages[POWERCUT_READ_LOG_PAGES];
  /* Written by the run. */
  uint32_t state;
  uint32_t unannounced; /* accesses of code without hooks, each of which faulted */
  uint64_t count;
  char why[240]; /* a part of a sentence about the run: "it starts a process" */
  /* The pages that the run may have changed; each stands here before its first change. `changed`
   * POWERCUT_READ_LOG_PAGES + 1: any page may have changed. */
  uint32_t changed;
  powercut_image_page changes[POWERCUT_READ_LOG_PAGES];
  powercut_read_entry entries[POWERCUT_READ_LOG_ENTRIES];
} powercut_read_log;

/* Called before main, in the process that runs are copies of. `images`: the paths of the files whose bytes count.
 * Returns the function that each run calls first. The returned function need not return, and never returns to
 * say that something is wrong: the log says so. All arguments stay where they are. */
typedef void powercut_reads_begin_function(void);
typedef powercut_reads_begin_function* powercut_reads_prepare_function(uint32_t version, powercut_read_log* log,
                                                                       const char* const* images, uint32_t count);
#define POWERCUT_READS_LIBRARY "libpowercut_rt.so"
#define POWERCUT_READS_PREPARE "powercut_reads_prepare" /* the function's name in the library */

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_ */
