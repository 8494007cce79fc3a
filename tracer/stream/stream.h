/* Encoder of the stream that binary tracers write (STREAM.md). Plain C without a C library: a Valgrind tool links it.
 *
 * One stream per file, not thread-safe. Bytes are gathered in the caller's buffer. `write` gets them when the buffer
 * is full and at powercut_stream_flush. After a failed write nothing more is written and `failed` stays set. */
#ifndef POWERCUT_TRACER_STREAM_STREAM_H_
#define POWERCUT_TRACER_STREAM_STREAM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POWERCUT_STREAM_VERSION 5u
#define POWERCUT_STREAM_MAGIC "\x89PCS\r\n\x1a\n"

enum {
  kPowercutStreamHeader = 16,
  kPowercutRecordHeader = 8,
  kPowercutMostPayload = 256 << 10,
  kPowercutMostStore = 4096,  /* bytes of one store, write or content record */
  kPowercutMostText = 4096,   /* longer paths and texts are cut */
  kPowercutMostBytes = 65536, /* a longer key or value is cut */
  kPowercutMostFrames = 256   /* the innermost are kept */
};

enum powercut_record {
  kPowercutPool = 1,
  kPowercutContent = 2,
  kPowercutMap = 3,
  kPowercutUnmap = 4,
  kPowercutStore = 5,
  kPowercutFlush = 6,
  kPowercutFence = 7,
  kPowercutLoad = 8,
  kPowercutThreadStart = 9,
  kPowercutThreadEnd = 10,
  kPowercutModule = 11,
  kPowercutStack = 12,
  kPowercutOpBegin = 13,
  kPowercutOpEnd = 14,
  kPowercutMarker = 15,
  kPowercutPhase = 16,
  kPowercutCut = 17,
  kPowercutFileWrite = 18,
  kPowercutFileSize = 19,
  kPowercutSync = 20,
  kPowercutNote = 21,
  kPowercutEnd = 22,
  kPowercutFileRead = 23,
  kPowercutOutput = 24
};

enum powercut_stream_store {
  kPowercutStoreNt = 1,
  kPowercutStoreAtomic = 2,
  kPowercutStoreString = 4, /* of a string instruction, or of a mem* or str* function */
  kPowercutStoreRmw = 8,
  kPowercutStoreContinues = 16, /* a further piece of the store before it */
  kPowercutStoreRound = 32      /* one round of a string instruction; with kPowercutStoreString */
};
enum powercut_stream_flush { kPowercutClwb = 1, kPowercutClflushopt = 2, kPowercutClflush = 3 };
enum powercut_stream_fence { kPowercutSfence = 1, kPowercutMfence = 2, kPowercutRmwFence = 3, kPowercutLockFence = 4 };
enum powercut_stream_medium { kPowercutMemory = 0, kPowercutDevice = 1 };
enum powercut_stream_sync {
  kPowercutMsync = 1,
  kPowercutFsync = 2,
  kPowercutWrittenThrough = 3 /* what was written to the range before this was durable when its write returned */
};
enum powercut_stream_read {
  kPowercutReadNow = 0,
  kPowercutReadSince = 1 /* through a mapping that may show what the file has held before */
};
enum powercut_stream_note {
  kPowercutNoteFork = 1,
  kPowercutNoteExec = 2,
  kPowercutNotePrivate = 3,
  kPowercutNoteOther = 4,
  kPowercutNoteUnseen = 5,    /* of a change of a pool: the verdict is unknown */
  kPowercutNoteCallbacks = 6, /* what the verdict must assume, since code was instrumented by -fsanitize=thread */
  kPowercutNoteRefused = 7    /* what was done to a device and is not modelled: the verdict is unknown */
};
enum powercut_stream_leave {
  kPowercutGone = 0,
  kPowercutDisowned = 1 /* mapped still, and no persistent memory by the program's own word */
};
enum powercut_stream_output { kPowercutStdout = 1, kPowercutStderr = 2 };
enum powercut_stream_end { kPowercutExited = 0, kPowercutSignalled = 1 };

typedef struct powercut_stream {
  /* Writes all of `size` bytes; returns 0, or another number after an error. */
  int (*write)(void* context, const void* bytes, size_t size);
  void* context;
  uint8_t* buffer;
  size_t capacity; /* at least a record header */
  size_t used;
  int failed;
} powercut_stream;

/* The place of a record: the number of its thread and the number of its stack. */
typedef struct powercut_site {
  uint32_t thread;
  uint32_t stack;
} powercut_site;

typedef struct powercut_stream_frame {
  uint32_t module;
  uint64_t offset;
} powercut_stream_frame;

/* Writes the header; to be called once, first. Preconditions: all fields but `used` and `failed` are set. */
void powercut_stream_begin(powercut_stream* stream);
void powercut_stream_flush(powercut_stream* stream);

/* `kind`: a powercut_stream_medium. */
void powercut_stream_pool(powercut_stream* stream, uint32_t kind, const char* path, uint64_t size);
void powercut_stream_content(powercut_stream* stream, uint32_t pool, uint64_t offset, const void* bytes, uint32_t size);
void powercut_stream_map(powercut_stream* stream, uint32_t pool, uint64_t address, uint64_t length, uint64_t offset);
void powercut_stream_unmap(powercut_stream* stream, uint32_t kind, uint64_t address, uint64_t length);

/* A store that is longer than kPowercutMostStore becomes several pieces that end at line boundaries. */
void powercut_stream_store(powercut_stream* stream, powercut_site site, uint32_t flags, uint64_t address,
                           const void* bytes, uint64_t size);
void powercut_stream_flush_line(powercut_stream* stream, powercut_site site, uint32_t kind, uint64_t address);
void powercut_stream_fence(powercut_stream* stream, powercut_site site, uint32_t kind);
void powercut_stream_load(powercut_stream* stream, powercut_site site, uint64_t address, uint64_t size);
/* `type`: kPowercutThreadStart, kPowercutThreadEnd or kPowercutCut. */
void powercut_stream_plain(powercut_stream* stream, uint32_t type, powercut_site site);

void powercut_stream_module(powercut_stream* stream, const char* path);
void powercut_stream_stack(powercut_stream* stream, const powercut_stream_frame* frames, uint32_t count);

/* The value of a maintenance operation is its command. */
void powercut_stream_op_begin(powercut_stream* stream, powercut_site site, uint32_t kind, const void* key,
                              uint64_t key_size, const void* value, uint64_t value_size);
void powercut_stream_op_end(powercut_stream* stream, powercut_site site, uint32_t status, const void* value,
                            uint64_t size);
void powercut_stream_marker(powercut_stream* stream, powercut_site site, const char* name);
void powercut_stream_phase(powercut_stream* stream, powercut_site site, int explored, const char* name);

/* Writes one record. The caller passes a longer write in pieces of at most kPowercutMostStore bytes. */
void powercut_stream_file_write(powercut_stream* stream, powercut_site site, uint32_t pool, uint64_t offset,
                                const void* bytes, uint32_t size);
/* `kind`: a powercut_stream_read. */
void powercut_stream_file_read(powercut_stream* stream, powercut_site site, uint32_t kind, uint32_t pool,
                               uint64_t offset, uint64_t length);
void powercut_stream_file_size(powercut_stream* stream, powercut_site site, uint32_t pool, uint64_t size);
void powercut_stream_sync(powercut_stream* stream, powercut_site site, uint32_t kind, uint32_t pool, uint64_t offset,
                          uint64_t length);

/* `which`: a powercut_stream_output. */
void powercut_stream_output(powercut_stream* stream, uint32_t which, uint64_t size);
void powercut_stream_note(powercut_stream* stream, uint32_t kind, const char* text);
/* Writes the last record and flushes the stream. */
void powercut_stream_end(powercut_stream* stream, uint32_t how, uint32_t status);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TRACER_STREAM_STREAM_H_ */
