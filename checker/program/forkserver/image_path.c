#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checker/program/forkserver/redirect.h"
#include "checker/program/forkserver/serve.h"

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

static const char* look_up(int folder, const char* path, char* space) {
  const char* pools = getenv(POWERCUT_FORK_POOLS);
  if (pools == NULL || path == NULL || *path == '\0') return path;
  char whole[PATH_MAX], pool[PATH_MAX];
  bool spelled = false;
  const char* name = name_in(path);
  for (const char* at = pools; *at != '\0';) {
    const size_t from = strcspn(at, (char[]){POWERCUT_FORK_US, '\0'});
    const char* image = at[from] == '\0' ? at + from : at + from + 1;
    const size_t to = strcspn(image, (char[]){POWERCUT_FORK_RS, '\0'});
    if (from < PATH_MAX && to < PATH_MAX) {
      memcpy(pool, at, from);
      pool[from] = '\0';
      if (strcmp(name, name_in(pool)) == 0) {
        if (!spelled && !spell_out(folder, path, whole)) return path;
        spelled = true;
        if (strcmp(whole, pool) == 0 || same_folder(whole, pool)) {
          memcpy(space, image, to);
          space[to] = '\0';
          /* The image itself has the pool's name as well. */
          return strcmp(whole, space) == 0 ? path : space;
        }
      }
    }
    at = image[to] == '\0' ? image + to : image + to + 1;
  }
  return path;
}

const char* powercut_image_of(int folder, const char* path, char* space) {
  const int saved = errno;
  const char* image = look_up(folder, path, space);
  errno = saved;
  return image;
}
