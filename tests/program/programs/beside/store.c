// Stores that keep data in one file, and more or less beside it.
//
//     store WAY run|check FILE [SIDE]
//
// `run` counts to three: two sectors of the file hold the number. `check` ends with status 0 where both hold the same,
// as far as the way promises that. A way that ends in "-buggy" forgets a sync.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kSector = 512, kSectors = 2, kCounts = 3 };

static const char* way;
static const char* path;
static char side[4096];
static int buggy;

static int is(const char* name) { return strncmp(way, name, strlen(name)) == 0; }

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static int opened(const char* name, int flags) {
  const int fd = open(name, flags, 0600);
  if (fd < 0) fail(name);
  return fd;
}

static void put(int fd, int sector, char number) {
  char bytes[kSector];
  memset(bytes, number, sizeof bytes);
  if (pwrite(fd, bytes, sizeof bytes, sector * kSector) != kSector) fail("pwrite");
}

static int get(int fd, int sector) {
  char bytes[kSector] = {0};
  if (pread(fd, bytes, sizeof bytes, sector * kSector) < 0) fail("pread");
  return bytes[0];
}

static void sync_unless(int forgotten, int fd) {
  if (!forgotten && fsync(fd) != 0) fail("fsync");
}

static void write_side(int flags, char number) {
  const int fd = opened(side, O_WRONLY | O_CREAT | flags);
  if (write(fd, &number, 1) != 1) fail("write");
  sync_unless(buggy, fd);
  close(fd);
}

static void* in_thread(void* number) {
  write_side(O_TRUNC, *(char*)number);
  return NULL;
}

// The files that a way keeps beside the file before the number is written, and after it.
static void before(char number) {
  char command[8192];
  pthread_t thread;
  if (is("journal")) write_side(O_TRUNC, (char)(number - 1));
  if (is("wal") || is("log")) write_side(O_APPEND, number);
  if (is("thread")) {
    pthread_create(&thread, NULL, in_thread, &number);
    pthread_join(thread, NULL);
  }
  if (is("child")) {
    snprintf(command, sizeof command, "printf '\\%o' > '%s'", number, side);
    if (system(command) != 0) fail("system");
  }
  if (is("folder")) {
    char made[8192];
    snprintf(made, sizeof made, "%s.tmp", side);
    const int fd = opened(made, O_WRONLY | O_CREAT | O_TRUNC);
    if (write(fd, &number, 1) != 1) fail("write");
    sync_unless(buggy, fd);
    close(fd);
    if (rename(made, side) != 0) fail("rename");
  }
}

static void after(void) {
  if (is("journal") && unlink(side) != 0) fail("unlink");
}

static int run(void) {
  if (is("rename")) {
    char made[8192];
    snprintf(made, sizeof made, "%s.tmp", path);
    const int fd = opened(made, O_WRONLY | O_CREAT | O_TRUNC);
    put(fd, 0, 1);
    put(fd, 1, 1);
    close(fd);
    return rename(made, path) != 0;
  }
  const int fd = opened(path, O_RDWR | O_CREAT);
  if (is("lock")) close(opened(side, O_RDWR | O_CREAT));
  if (is("map") || is("pool")) {
    if (ftruncate(fd, 4096) != 0) fail("ftruncate");
    char* const mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) fail("mmap");
    for (char number = 1; number <= kCounts; ++number) {
      if (is("pool-beside")) write_side(O_TRUNC, number);
      mapped[0] = number;
      __builtin_ia32_clflush(mapped);
      __builtin_ia32_sfence();
    }
    return 0;
  }
  for (char number = 1; number <= kCounts; ++number) {
    before(number);
    put(fd, 0, number);
    if (!is("single") || buggy) put(fd, 1, number);
    sync_unless(0, fd);
    after();
  }
  return 0;
}

// The last byte of what is beside the file; 0 without it.
static int last_of_side(void) {
  char byte = 0;
  struct stat status;
  const int fd = open(side, O_RDONLY);
  if (fd < 0) return 0;
  if (fstat(fd, &status) != 0 || (status.st_size > 0 && pread(fd, &byte, 1, status.st_size - 1) != 1)) fail("read");
  close(fd);
  return byte;
}

static int check(void) {
  const int fd = opened(path, O_RDWR);
  if (is("log")) write_side(O_APPEND, 'r');
  if (is("lock")) close(opened(side, O_RDWR));
  if (is("pool-beside")) return last_of_side() < get(fd, 0);
  if (is("pool") || is("map") || is("rename")) return 0;
  if (is("single") && !buggy) return get(fd, 0) > kCounts;
  if (is("journal")) {
    if (access(side, F_OK) != 0) return get(fd, 0) != get(fd, 1);
    put(fd, 0, (char)last_of_side());
    put(fd, 1, (char)last_of_side());
    sync_unless(0, fd);
    return unlink(side) != 0;
  }
  const int known = is("single") || is("log") || is("lock") ? 0 : last_of_side();
  if (known != 0) {
    put(fd, 0, (char)known);
    put(fd, 1, (char)known);
    // As a store does that tidies up when it is opened.
    if (is("folder")) {
      write_side(O_TRUNC, 'r');
      close(opened(strcat(side, ".new"), O_WRONLY | O_CREAT));
    }
  }
  return is("log") || is("lock") ? get(fd, 0) > kCounts : get(fd, 0) != get(fd, 1);
}

int main(int argc, char** argv) {
  if (argc < 4) fail("store WAY run|check FILE [SIDE]");
  way = argv[1];
  path = argv[3];
  buggy = strstr(way, "-buggy") != NULL;
  snprintf(side, sizeof side - 8, "%s%s", argc > 4 ? argv[4] : path, argc > 4 ? "" : "-side");
  return strcmp(argv[2], "run") == 0 ? run() : check();
}
