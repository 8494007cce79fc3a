/* A tracer of instructions tells two things to the recorder of calls: stores through mappings of files, and the stack
 * of the call that a thread is about to make. Records go to a file for all processes, each by one write or as part of
 * one. A tracer writes what it has before the program makes a system call, so the records stand in their place among
 * the calls. Plain C without a C library. */
#ifndef POWERCUT_TRACER_CALLS_STORE_RECORD_H_
#define POWERCUT_TRACER_CALLS_STORE_RECORD_H_

#include <stdint.h>

/* A change of the layout changes all kinds: a recorder and a tracer of different builds then understand nothing, and
 * the recording says so. */
enum powercut_store_record_kind {
  kPowercutStoreStack = 0x101, /* `stack` names the program counters that follow, 8 bytes each, innermost first */
  kPowercutStoreOfFile = 0x102,
  kPowercutStoreCall = 0x103 /* the next call of the thread that writes this has this stack */
};

enum { kPowercutMostStored = 4096 /* bytes of one record */ };

typedef struct powercut_store_record {
  uint32_t kind;
  uint32_t size;          /* of what follows, in bytes */
  uint64_t thread;        /* the tracer's number in this process */
  uint64_t stack;         /* by its name in this process; 0: unknown */
  uint64_t inode, offset; /* of a store; `inode` as the file system numbers it */
} powercut_store_record;

#endif /* POWERCUT_TRACER_CALLS_STORE_RECORD_H_ */
