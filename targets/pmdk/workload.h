/* The workload of the recorded run: a list of operations, generated from a seed or read from a file. */

#ifndef POWERCUT_TARGETS_PMDK_WORKLOAD_H_
#define POWERCUT_TARGETS_PMDK_WORKLOAD_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum op_kind { kInsert, kUpdate, kErase, kLookup, kRehash };

struct op {
  enum op_kind kind;
  uint64_t key;   /* 0 for a rehash */
  uint64_t value; /* of insert and update */
};

struct workload {
  struct op* ops;
  size_t count;
};

/* `count` operations over about count/2 keys; every written value is different. Equal seeds give equal lists. */
struct workload workload_generate(size_t count, uint64_t seed);

/* Reads a file of lines such as "insert 1 10", "update 1 11", "erase 1", "lookup 1", "rehash"; '#' starts a comment.
 * Says on stderr what is wrong with a file that it cannot read. */
bool workload_read(const char* path, struct workload* workload);

void workload_free(struct workload* workload);

#ifdef __cplusplus
}
#endif

#endif /* POWERCUT_TARGETS_PMDK_WORKLOAD_H_ */
