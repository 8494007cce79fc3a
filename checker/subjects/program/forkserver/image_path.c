#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/redirect.h"
#include "checker/subjects/program/forkserver/serve.h"

/* Makes `path` absolute and takes ".", ".." and doubled slashes out of it; links stay as they are. */
static bool spell_out(int folder, const char* path, char* out) {
  size_t size = 0;
  if (path[0] != '/') {
    if (folder == AT_FDCWD) {
      if (getcwd(out, PATH_MAX) == NULL) return false;
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      const ssize_t length = readlink(link, out, PATH_MAX - 1);
      if (length < 0) return false;
      out[length] = '\0';
    }
    size = strlen(out);
    if (size == 1) size = 0; /* "/" */
  }
  while (*path != '\0') {
    while (*path == '/') ++path;
    const size_t part = strcspn(path, "/");
    if (part == 2 && path[0] == '.' && path[1] == '.') {
      while (size > 0 && out[--size] != '/') {
      }
    } else if (part > 0 && !(part == 1 && path[0] == '.')) {
      if (size + 1 + part + 1 > PATH_MAX) return false;
      out[size++] = '/';
      memcpy(out + size, path, part);
      size += part;
    }
    path += part;
  }
  if (size == 0) out[size++] = '/';
  out[size] = '\0';
  return true;
}

static const char* name_in(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

/* Whether two paths with the same last part name the same file: a folder on the way may be a link. */
static bool same_folder(const char* a, const char* b) {
  char left[PATH_MAX], right[PATH_MAX], folder[PATH_MAX];
  const size_t left_size = (size_t)(name_in(a) - a), right_size = (size_t)(name_in(b) - b);
  memcpy(folder, a, left_size);
  folder[left_size] = '\0';
  if (realpath(folder, left) == NULL) return false;
  memcpy(folder, b, right_size);
  folder[right_size] = '\0';
  return realpath(folder, right) != NULL && strcmp(left, right) == 0;
}

static struct powercut_pool none;
static _Atomic(struct powercut_pool*) known;

static struct powercut_pool* read_pools(void) {
  const char* list = getenv(POWERCUT_FORK_POOLS);
  if (list == NULL || *list == '\0') return &none;
  size_t count = 1;
  for (const char* at = list; *at != '\0'; ++at) count += *at == POWERCUT_FORK_RS;
  struct powercut_pool* const pools = calloc(count + 1, sizeof *pools);
  char* at = strdup(list);
  if (pools == NULL || at == NULL) return &none;
  for (size_t i = 0; i < count && at != NULL; ++i) {
    pools[i].path = strsep(&at, (char[]){POWERCUT_FORK_US, '\0'});
    pools[i].image = at == NULL ? pools[i].path : strsep(&at, (char[]){POWERCUT_FORK_RS, '\0'});
  }
  return pools;
}

const struct powercut_pool* powercut_pools(void) {
  struct powercut_pool* pools = atomic_load(&known);
  if (pools == NULL) {
    pools = read_pools(); /* by each thread that comes first */
    atomic_store(&known, pools);
  }
  return pools;
}

/* Whether the path may name a pool: the path ends in the name of a pool, and is not the path of an image, which has the
 * same name. Most calls end here, and touch no page of the stack for a path. */
static bool may_name_a_pool(const char* path) {
  const char* name = name_in(path);
  bool named = false;
  for (const struct powercut_pool* pool = powercut_pools(); pool->path != NULL; ++pool) {
    if (strcmp(path, pool->image) == 0) return false;
    named = named || strcmp(name, name_in(pool->path)) == 0;
  }
  return named;
}

static __attribute__((noinline)) const char* look_up(int folder, const char* path) {
  char whole[PATH_MAX];
  if (!spell_out(folder, path, whole)) return path;
  const char* name = name_in(path);
  for (const struct powercut_pool* pool = powercut_pools(); pool->path != NULL; ++pool) {
    if (strlen(pool->path) >= PATH_MAX || strcmp(name, name_in(pool->path)) != 0) continue;
    if (strcmp(whole, pool->path) != 0 && !same_folder(whole, pool->path)) continue;
    return strcmp(whole, pool->image) == 0 ? path : pool->image;
  }
  return path;
}

const char* powercut_image_of(int folder, const char* path) {
  const int saved = errno;
  const char* image = path != NULL && *path != '\0' && may_name_a_pool(path) ? look_up(folder, path) : path;
  errno = saved;
  return image;
}
