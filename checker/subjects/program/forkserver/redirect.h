/* Tells which image stands for a path. */
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REDIRECT_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REDIRECT_H_

struct powercut_pool {
  const char *path, *image;
};
/* The pools of POWERCUT_FORK_POOLS (serve.h), up to one without a path. The array stays until the process ends. */
const struct powercut_pool* powercut_pools(void);

/* The image of the pool that `path` (relative to `folder`, a descriptor or AT_FDCWD) names, or `path` itself. Leaves
 * errno alone. */
const char* powercut_image_of(int folder, const char* path);

/* Reads the pools, and looks up every function that redirect.c stands before; without this call each run would do both
 * anew. */
void powercut_prepare_redirects(void);

#endif /* POWERCUT_CHECKER_SUBJECTS_PROGRAM_FORKSERVER_REDIRECT_H_ */
