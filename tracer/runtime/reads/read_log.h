/* What a run of a recovery tells of its reads while it runs: memory that it shares with the engine. The bytes that it
 * read before it overwrote them, in the order of their first reads, are what its outcome depends on. The pages that it
 * may have changed are those that have to be restored.
 *
 * The engine says first which pages of the images may differ from image to image. Only these are followed: what all
 * images have alike tells none of them from another.
 *
 * An entry is bytes of a line that nothing in this process accessed before: `mask` has a bit for each. So the entries
 * of a line have disjoint masks, and their number is bounded by the bytes that are accessed. A child of the run adds
 * entries of its own, with bytes that its parent may have told of. */
#ifndef POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_
#define POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A change of what stands here, or of what it means, is a new version. */
#define POWERCUT_READ_LOG_VERSION 3u

#define POWERCUT_READ_LOG_ENTRIES (1u << 20)
#define POWERCUT_READ_LOG_PAGES (1u << 16)
#define POWERCUT_READ_LOG_PAGE 4096u /* bytes */

enum powercut_read_log_state {
  kPowercutReadsNone = 0,     /* the run never came to report */
  kPowercutReadsFollowed = 1, /* all that the run has accessed until now is here */
  kPowercutReadsRefused = 2,  /* it did what cannot be followed; `why` says what */
};

typedef struct powercut_read_entry {
  uint32_t line; /* of the image's file: its offset / 64 */
  uint16_t image;
  uint16_t written; /* 1: overwritten before anything read it */
  uint64_t mask;
} powercut_read_entry;

typedef struct powercut_image_page {
  uint32_t image, page; /* its file's bytes from page * POWERCUT_READ_LOG_PAGE on */
} powercut_image_page;

typedef struct powercut_read_log {
  /* The engine's, from before the program starts. `followed` POWERCUT_READ_LOG_PAGES + 1: all pages are. */
  uint32_t followed;
  powercut_image_page pages[POWERCUT_READ_LOG_PAGES];
  /* The run's. */
  uint32_t state;
  uint32_t unannounced; /* accesses of code without hooks, each of which faulted */
  uint64_t count;
  char why[240]; /* a part of a sentence about the run: "it starts a process" */
  /* Pages that it may have changed, each told of before it is changed. `changed` POWERCUT_READ_LOG_PAGES + 1: any. */
  uint32_t changed;
  powercut_image_page changes[POWERCUT_READ_LOG_PAGES];
  powercut_read_entry entries[POWERCUT_READ_LOG_ENTRIES];
} powercut_read_log;

/* In the process that runs are copies of, before main. `images`: the paths of the files whose bytes count. Returns what
 * each run calls first; it need not return there, and never does so to say that something is wrong: the log does. All
 * arguments stay where they are. */
typedef void powercut_reads_begin_function(void);
typedef powercut_reads_begin_function* powercut_reads_prepare_function(uint32_t version, powercut_read_log* log,
                                                                       const char* const* images, uint32_t count);
#define POWERCUT_READS_LIBRARY "libpowercut_rt.so"
#define POWERCUT_READS_PREPARE "powercut_reads_prepare" /* its name there */

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_RUNTIME_READS_READ_LOG_H_ */
