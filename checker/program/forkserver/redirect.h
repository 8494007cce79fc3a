/* Which image stands for a path. */
#ifndef POWERCUT_CHECKER_PROGRAM_FORKSERVER_REDIRECT_H_
#define POWERCUT_CHECKER_PROGRAM_FORKSERVER_REDIRECT_H_

/* The image of the pool that `path` (relative to `folder`, a descriptor or AT_FDCWD) names, or `path` itself. `space`:
 * PATH_MAX bytes for it. Leaves errno alone. */
const char* powercut_image_of(int folder, const char* path, char* space);

#endif /* POWERCUT_CHECKER_PROGRAM_FORKSERVER_REDIRECT_H_ */
