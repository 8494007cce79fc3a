/* Makes random calls on the files of a folder and prints the result of each: test-tree-calls FOLDER SEED CALLS. The
 * seed is a number in a file.
 *
 * Two file systems on which this program prints the same, from the same tree, cannot be told apart by these calls. Not
 * printed: facts in which file systems differ, which are sizes and numbers of names of folders, inode numbers, times.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kDescriptors = 3, kMost = 20000, kPage = 4096 };

static uint64_t state;
static int descriptors[kDescriptors];
static char bytes[kMost], more[kMost];

static uint64_t draw(uint64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % below;
}

static const char* pick_folder(void) {
  static const char* const folders[] = {".", ".", ".", ".", "d", "d", "e", "d/sub", "absent", "link"};
  return folders[draw(sizeof folders / sizeof *folders)];
}

/* One of a few paths, in one of four rooms, since some calls take two. */
static const char* pick_path(void) {
  static char rooms[4][600], longest[300];
  static int at;
  static const char* const names[] = {"a", "a",   "b",    "b",        "c",           "f", "d",
                                      "e", "sub", "link", "dangling", "\xff\n \x01", "é"};
  char* const out = rooms[at++ % 4];
  const uint64_t which = draw(40);
  const char* name = names[draw(sizeof names / sizeof *names)];
  if (which == 0 || which == 1) {
    memset(longest, 'n', 255 + which);
    longest[255 + which] = '\0';
    name = longest;
  }
  const char* const folder = pick_folder();
  if (strcmp(folder, ".") == 0 && which % 2 == 0) {
    strcpy(out, name);
  } else {
    snprintf(out, sizeof rooms[0], "%s/%s", folder, name);
  }
  return out;
}

static int* pick_descriptor(void) { return &descriptors[draw(kDescriptors)]; }
static off_t pick_offset(void) { return (off_t)(draw(3) == 0 ? draw(4) * kPage : draw(kMost / 2)); }
static size_t pick_size(void) { return draw(4) == 0 ? draw(kMost / 2) : draw(300); }

static void fill(size_t size) {
  const uint64_t first = draw(1 << 20);
  for (size_t i = 0; i < size; ++i) bytes[i] = (char)(first * 31 + i * 7 + (i >> 8));
}

static unsigned long long sum(const char* data, size_t size) {
  unsigned long long out = 14695981039346656037u;
  for (size_t i = 0; i < size; ++i) out = (out ^ (unsigned char)data[i]) * 1099511628211u;
  return out;
}

static void told(const char* call, long long result) {
  if (result < 0) {
    printf(" %s %s\n", call, strerrorname_np(errno));
  } else {
    printf(" %s %lld\n", call, result);
  }
}

static void told_bytes(const char* call, ssize_t result, const char* data) {
  told(call, result);
  if (result > 0) printf("  sum %llx\n", sum(data, (size_t)result));
}

static void told_stat(const char* call, int result, const struct stat* status) {
  told(call, result);
  if (result != 0) return;
  const int folder = S_ISDIR(status->st_mode);
  printf("  mode %o links %ld size %ld\n", status->st_mode, folder ? 0L : (long)status->st_nlink,
         folder ? 0L : (long)status->st_size);
}

static void open_one(void) {
  static const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
  static const int with[] = {0,
                             0,
                             O_CREAT,
                             O_CREAT,
                             O_CREAT,
                             O_CREAT | O_EXCL,
                             O_TRUNC,
                             O_CREAT | O_TRUNC,
                             O_APPEND,
                             O_CREAT | O_APPEND,
                             O_NOFOLLOW,
                             O_SYNC,
                             O_DSYNC | O_CREAT,
                             O_DIRECTORY};
  int* const descriptor = pick_descriptor();
  if (*descriptor >= 0) close(*descriptor);
  const char* const path = pick_path();
  const int flags = ways[draw(4)] | with[draw(sizeof with / sizeof *with)];
  *descriptor = open(path, flags | O_CLOEXEC, 0600 + draw(64));
  printf(" %.99s %o", path, flags);
  told("open", *descriptor >= 0 ? 0 : -1);
}

static void open_nameless(void) {
  int* const descriptor = pick_descriptor();
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = open(pick_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  told("open O_TMPFILE", *descriptor >= 0 ? 0 : -1);
}

static void name_descriptor(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", *pick_descriptor());
  told("linkat", linkat(AT_FDCWD, path, AT_FDCWD, pick_path(), AT_SYMLINK_FOLLOW));
}

static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void list(void) {
  char *names[200], text[400];
  size_t count = 0;
  const char* const folder = pick_folder();
  DIR* const opened = opendir(folder);
  told("opendir", opened != NULL ? 0 : -1);
  if (opened == NULL) return;
  for (const struct dirent* entry; (entry = readdir(opened)) != NULL && count < 200;) {
    snprintf(text, sizeof text, "%s %d", entry->d_name, entry->d_type);
    names[count++] = strdup(text);
  }
  closedir(opened);
  qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; ++i) {
    printf("  %s\n", names[i]);
    free(names[i]);
  }
}

static void map(void) {
  const int descriptor = *pick_descriptor();
  const int shared = draw(2) == 0, writes = draw(2) == 0;
  const off_t offset = (off_t)draw(3) * kPage;
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= offset) return;
  char* const mapped = mmap(NULL, 2 * kPage, PROT_READ | (writes ? PROT_WRITE : 0), shared ? MAP_SHARED : MAP_PRIVATE,
                            descriptor, offset);
  told(shared ? "mmap shared" : "mmap private", mapped != MAP_FAILED ? 0 : -1);
  if (mapped == MAP_FAILED) return;
  const size_t there = (size_t)(status.st_size - offset) < 2 * kPage ? (size_t)(status.st_size - offset) : 2 * kPage;
  if (writes) {
    const size_t at = draw(there), size = draw(there - at) / 2 + 1;
    fill(size);
    memcpy(mapped + at, bytes, size);
    if (draw(2) == 0) told("msync", msync(mapped, 2 * kPage, MS_SYNC));
  }
  printf("  sum %llx\n", sum(mapped, there));
  if (shared) { /* calls see what the mapping changed */
    const ssize_t size = pread(descriptor, more, there, offset);
    told_bytes("pread", size, more);
  }
  if (draw(2) == 0) munmap(mapped, 2 * kPage);
}

static void allocate(void) {
  static const int modes[] = {0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
  const int mode = modes[draw(3)];
  told("fallocate", fallocate(*pick_descriptor(), mode, pick_offset(), (off_t)pick_size() + 1));
}

static void rename_with_flags(void) {
  const unsigned flags = draw(2) == 0 ? RENAME_NOREPLACE : RENAME_EXCHANGE;
  const char *const from = pick_path(), *const to = pick_path();
  printf(" %.99s %.99s %u", from, to, flags);
  told("renameat2", syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
}

static void change_names(void) {
  struct stat status;
  const char *const path = pick_path(), *const other = pick_path();
  const uint64_t which = draw(11);
  printf(" %.99s", path);
  switch (which) {
    case 0:
      return told("unlink", unlink(path));
    case 1:
    case 2:
      printf(" %.99s", other);
      return told("rename", rename(path, other));
    case 3:
      printf(" %.99s", other);
      return told("link", link(path, other));
    case 4:
      return told("mkdir", mkdir(path, 0700 + draw(64)));
    case 5:
      return told("rmdir", rmdir(path));
    case 6:
      return told("symlink", symlink(pick_folder(), path));
    case 7:
      return told_bytes("readlink", readlink(path, more, sizeof more), more);
    case 8:
      return told_stat("lstat", lstat(path, &status), &status);
    case 9:
      return told_stat("stat", stat(path, &status), &status);
    default:
      return told("access", access(path, (int)draw(4)));
  }
}

static void use_descriptor(void) {
  struct stat status;
  const int descriptor = *pick_descriptor();
  const off_t offset = pick_offset();
  const size_t size = pick_size();
  switch (draw(15)) {
    case 0:
    case 1:
      return told_bytes("read", read(descriptor, more, size), more);
    case 2:
    case 3:
      return told_bytes("pread", pread(descriptor, more, size, offset), more);
    case 4:
    case 5:
      fill(size);
      return told("write", write(descriptor, bytes, size));
    case 6:
      fill(size);
      return told("pwrite", pwrite(descriptor, bytes, size, offset));
    case 7:
      if (read(descriptor, more, 0) < 0 && errno == EISDIR) return; /* file systems number the names of a folder */
      return told("lseek", lseek(descriptor, draw(3) == 0 ? 0 : offset / 2, draw(2) == 0 ? SEEK_END : SEEK_CUR));
    case 8:
      return told("lseek", lseek(descriptor, offset, SEEK_SET));
    case 9:
      return told("ftruncate", ftruncate(descriptor, offset));
    case 10:
      return told_stat("fstat", fstat(descriptor, &status), &status);
    case 11:
      return told(draw(2) == 0 ? "fsync" : "fdatasync", draw(2) == 0 ? fsync(descriptor) : fdatasync(descriptor));
    case 12: {
      struct iovec one = {bytes, size};
      fill(size);
      return told("pwritev2", pwritev2(descriptor, &one, 1, offset, RWF_DSYNC));
    }
    case 13:
      return told("flock", flock(descriptor, LOCK_EX | LOCK_NB));
    default:
      return told_stat("fstat", fstat(descriptor, &status), &status);
  }
}

static void others(void) {
  const char* const path = pick_path();
  switch (draw(5)) {
    case 0:
      return told("truncate", truncate(path, pick_offset()));
    case 1:
      printf(" %.99s", path);
      return told("chmod", chmod(path, 0400 + draw(256)));
    case 2: {
      off_t from = pick_offset(), to = 0;
      const int source = *pick_descriptor();
      const int target = memfd_create("copy", 0);
      const size_t size = pick_size();
      ssize_t copied =
          draw(2) == 0 ? copy_file_range(source, &from, target, &to, size, 0) : sendfile(target, source, &from, size);
      /* A kernel may refuse both for any file. Programs then read and write. */
      if (copied < 0) copied = pwrite(target, more, (size_t)pread(source, more, size, from), 0);
      copied = pread(target, more, sizeof more, 0);
      close(target);
      return told_bytes("copy", copied, more);
    }
    case 3: {
      const struct timespec times[2] = {{1, 2}, {(time_t)draw(1000), 0}};
      struct stat status;
      const int result = utimensat(AT_FDCWD, path, times, 0);
      told("utimensat", result);
      if (result == 0 && stat(path, &status) == 0) printf("  %ld\n", (long)status.st_mtim.tv_sec);
      return;
    }
    default:
      return name_descriptor();
  }
}

int main(int argc, char** argv) {
  unsigned long long seed = 0;
  FILE* const file = argc == 4 ? fopen(argv[2], "r") : NULL;
  if (file == NULL || fscanf(file, "%llu", &seed) != 1 || fclose(file) != 0 || chdir(argv[1]) != 0) return 2;
  state = seed * 2654435761u + 1;
  umask(022);
  for (int i = 0; i < kDescriptors; ++i) descriptors[i] = -1;
  const int calls = atoi(argv[3]);
  for (int call = 0; call < calls; ++call) {
    printf("%d", call);
    switch (draw(12)) {
      case 0:
      case 1:
      case 2:
        open_one();
        break;
      case 3:
        draw(4) == 0 ? open_nameless() : list();
        break;
      case 4:
        map();
        break;
      case 5:
        allocate();
        break;
      case 6:
        rename_with_flags();
        break;
      case 7:
      case 8:
        change_names();
        break;
      case 9:
        others();
        break;
      default:
        use_descriptor();
    }
    putchar('\n');
  }
  return 0;
}
