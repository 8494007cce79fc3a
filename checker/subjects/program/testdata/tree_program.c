/* A command on a folder that does one thing at a time: test-tree-program HOW FOLDER. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[8192];

/* "constructor": it looks at the folder before main. */
__attribute__((constructor)) static void look_before_main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "constructor") == 0) close(open(argv[2], O_RDONLY | O_DIRECTORY));
}

static int must(int result) {
  if (result < 0) {
    perror("test-tree-program");
    exit(3);
  }
  return result;
}

static void* read_in_thread(void* file) {
  if (pread(*(int*)file, bytes, 100, 0) < 0) exit(4);
  return NULL;
}

static void write_all(int file, const char* text) { must((int)write(file, text, strlen(text))); }

int main(int argc, char** argv) {
  if (argc != 3 || chdir(argv[2]) != 0) return 2;
  const char* const how = argv[1];
  if (strcmp(how, "size") == 0) {
    struct stat status;
    must(stat("file", &status));
    printf("%ld\n", (long)status.st_size);
  } else if (strcmp(how, "threads") == 0) {
    int file = must(open("file", O_RDONLY));
    pthread_t thread;
    pthread_create(&thread, NULL, read_in_thread, &file);
    pthread_join(thread, NULL);
    if (fork() == 0) _exit(pread(file, bytes, 50, 200) < 0);
    wait(NULL);
  } else if (strcmp(how, "raw") == 0) {
    const long file = syscall(SYS_openat, AT_FDCWD, "file", O_RDONLY);
    printf("%ld\n", syscall(SYS_pread64, file, bytes, 10L, 5L));
  } else if (strcmp(how, "map") == 0) {
    const int file = must(open("file", O_RDWR));
    char* const mapped = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return 5;
    mapped[4096 + 10] = 'X';
    printf("%d\n", mapped[4096 + 11]);
  } else if (strcmp(how, "behind") == 0) {
    const int file = must(open("file", O_RDONLY));
    const volatile char* const mapped = mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, file, 0);
    printf("%d\n", mapped[1 << 19]);
  } else if (strcmp(how, "append") == 0) {
    write_all(must(open("file", O_WRONLY | O_APPEND)), "more");
  } else if (strcmp(how, "anew") == 0) {
    const int file = must(open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    struct stat status;
    must(fstat(file, &status));
    write_all(file, "anew");
  } else if (strcmp(how, "overlap") == 0) {
    const int file = must(open("file", O_RDWR));
    must((int)pwrite(file, "own", 3, 10));
    must((int)pread(file, bytes, 20, 0));
    must((int)pread(file, bytes, 30, 5));
  } else if (strcmp(how, "replace") == 0) {
    const int file = must(open("new", O_WRONLY | O_CREAT | O_EXCL, 0600));
    write_all(file, "whole");
    must(fsync(file));
    must(rename("new", "file"));
    must(fsync(must(open(".", O_RDONLY | O_DIRECTORY))));
    must(mkdir("made", 0700));
    must(link("file", "made/second"));
    must(symlink("file", "soft"));
    must(unlink("other"));
    const int durable = must(open("made/log", O_WRONLY | O_CREAT | O_DSYNC, 0600));
    write_all(durable, "line");
    must(ftruncate(durable, 2));
    must(fallocate(durable, FALLOC_FL_KEEP_SIZE, 0, 100));
    must(fdatasync(durable));
  } else if (strcmp(how, "refused") == 0) {
    const int file = must(open("file", O_RDWR)), other = memfd_create("other", 0);
    struct iovec one = {bytes, 1};
    struct statx status;
    printf("%d", sendfile(other, file, NULL, 1) < 0 ? errno : 0);
    printf(" %d", copy_file_range(file, NULL, other, NULL, 1, 0) < 0 ? errno : 0);
    printf(" %d", pwritev2(file, &one, 1, 0, RWF_APPEND) < 0 ? errno : 0);
    printf(" %d", pwritev2(file, &one, 1, 0, 0) < 0 ? errno : 0);
    printf(" %ld\n",
           syscall(SYS_statx, AT_FDCWD, "file", AT_STATX_DONT_SYNC, STATX_SIZE, &status) < 0 ? (long)errno : 0L);
  } else if (strcmp(how, "daemon") == 0) {
    if (fork() == 0) {
      setsid();
      const int file = must(open("file", O_RDWR));
      for (;;) must((int)pread(file, bytes, 100, 0));
    }
  } else if (strcmp(how, "hang") == 0) {
    const int file = must(open("file", O_RDWR));
    for (;;) must((int)pwrite(file, bytes, 100, 0));
  } else if (strcmp(how, "killed") == 0) {
    must(open("file", O_RDWR));
    raise(SIGKILL);
  } else {
    must(open("file", O_RDONLY));
  }
  return 0;
}
