/* Reads its pool in every way that a tracer has to tell of: `test-reads POOL STRIDE`. The way number N reads the 8
 * bytes at N * STRIDE, and its last lines read nothing that was there. Prints what it has read. With a third word it
 * may read the pool unseen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int pool;
static off_t at; /* of the way at hand */

static void must(int right, const char* what) {
  if (right) return;
  printf("%s: %s\n", what, strerror(errno));
  exit(9);
}

static void show(const void* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  printf("%ld %016lx\n", (long)at, (unsigned long)word);
}

/* Shows a word that came out of a pipe, a socket or another file. */
static void show_from(int fd) {
  char bytes[8];
  must(read(fd, bytes, 8) == 8, "read back");
  show(bytes);
}

static char* map(int protection, int flags, size_t size) {
  char* mapped = mmap(NULL, size, protection, flags, pool, 0);
  must(mapped != MAP_FAILED, "mmap");
  return mapped;
}

/* With "early": counts in the pool before main, and reads nothing else. */
static char count[8];
__attribute__((constructor)) static void count_early(int argc, char** argv) {
  if (argc < 4 || strcmp(argv[3], "early") != 0) return;
  const int fd = open(argv[1], O_RDWR);
  must(pread(fd, count, 8, 0) == 8, "pread");
  ++count[0];
  must(pwrite(fd, count, 8, 0) == 8, "pwrite");
}

/* Might read the pool in a way that no tracer follows. */
static int unseen(const char* path, const char* how) {
  char other[4096];
  snprintf(other, sizeof other, "%s.other", path);
  if (strcmp(how, "early") == 0) return count[0];
  if (strcmp(how, "mem") == 0) return open("/proc/self/mem", O_RDONLY) < 0;
  if (strcmp(how, "rename") == 0) return rename(path, other) != 0 || rename(other, path) != 0;
  if (strcmp(how, "link") == 0) return link(path, other) != 0 || unlink(other) != 0;
  if (strcmp(how, "unlink") == 0) return unlink(path) != 0;
  if (strcmp(how, "exec") == 0) return chmod(path, 0700) != 0 || execl(path, path, NULL) == 0;
  pool = open(path, O_RDWR);
  if (strcmp(how, "code") == 0) return *map(PROT_READ | PROT_EXEC, MAP_PRIVATE, 4096) == 2;
  int flags = 0;
  if (strcmp(how, "ioctl") == 0) return ioctl(pool, FS_IOC_GETFLAGS, &flags) == 2;
  if (strcmp(how, "collapse") == 0) return fallocate(pool, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) > 0;
  if (strcmp(how, "uring") == 0) return syscall(SYS_io_uring_setup, 0, NULL) == 2;
  if (strcmp(how, "child") != 0) return 97;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return waitpid(child, NULL, 0) != child;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  if (argc > 3) return unseen(argv[1], argv[3]);
  const long stride = atol(argv[2]);
  struct stat status;
  char bytes[8], other[4096];
  struct iovec parts[2] = {{bytes, 3}, {bytes + 3, 5}};
  int ends[2], sockets[2];
  pool = open(argv[1], O_RDWR);
  must(pool >= 0 && fstat(pool, &status) == 0, argv[1]);
  must(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "pipe");
  const size_t size = (size_t)status.st_size;
  printf("size %zu\n", size);

  char* shared = map(PROT_READ, MAP_SHARED, size);
  show(shared + at);
  at += stride;
  must(pread(pool, bytes, 8, at) == 8, "pread");
  show(bytes);
  at += stride;
  must(preadv(pool, parts, 2, at) == 8, "preadv");
  show(bytes);
  at += stride;
  must(preadv2(pool, parts, 2, at, 0) == 8, "preadv2");
  show(bytes);
  at += stride;
  must(lseek(pool, at, SEEK_SET) == at && read(pool, bytes, 8) == 8, "read");
  show(bytes);
  at += stride;
  must(lseek(pool, at, SEEK_SET) == at && readv(pool, parts, 2) == 8, "readv");
  show(bytes);
  at += stride;
  must(lseek(pool, at, SEEK_SET) == at && preadv2(pool, parts, 2, -1, 0) == 8, "preadv2 at the position");
  show(bytes);
  at += stride;
  off_t from = at;
  must(sendfile(sockets[0], pool, &from, 8) == 8, "sendfile");
  show_from(sockets[1]);
  at += stride;
  must(lseek(pool, at, SEEK_SET) == at && sendfile(sockets[0], pool, NULL, 8) == 8, "sendfile at the position");
  show_from(sockets[1]);
  at += stride;
  from = at;
  must(splice(pool, &from, ends[1], NULL, 8, 0) == 8, "splice");
  show_from(ends[0]);
  at += stride;
  from = at;
  snprintf(other, sizeof other, "%s.copy", argv[1]);
  const int copy = open(other, O_RDWR | O_CREAT | O_TRUNC, 0600);
  must(ioctl(copy, FICLONE, pool) < 0, "no clone in /dev/shm"); /* as cp tries; it reads nothing */
  must(copy_file_range(pool, &from, copy, NULL, 8, 0) == 8 && lseek(copy, 0, SEEK_SET) == 0, "copy_file_range");
  show_from(copy);
  at += stride;
  must(write(ends[1], shared + at, 8) == 8, "write");
  show_from(ends[0]);
  at += stride;
  parts[0].iov_base = shared + at;
  parts[1].iov_base = shared + at + 3;
  must(writev(ends[1], parts, 2) == 8, "writev");
  show_from(ends[0]);
  at += stride;
  struct iovec whole = {shared + at, 8};
  struct msghdr message = {.msg_iov = &whole, .msg_iovlen = 1};
  must(sendmsg(sockets[0], &message, 0) == 8, "sendmsg");
  show_from(sockets[1]);
  at += stride;
  /* A path of four bytes that only the kernel reads: whether there is such a file. */
  printf("%ld %ld\n", (long)at, syscall(SYS_access, shared + at, F_OK));
  at += stride;
  /* Does not wait when the word is another one. */
  const struct timespec soon = {0, 1000000};
  syscall(SYS_futex, shared + at, FUTEX_WAIT, 0x01010101, &soon, NULL, 0);
  printf("%ld %d\n", (long)at, errno);
  at += stride;
  char* private = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, size);
  show(private + at);
  at += stride;
  /* A page that the process has for itself: a write to the file does not hide the page's earlier bytes. */
  private[at + 32] = 1;
  must(pwrite(pool, "written!", 8, at) == 8, "pwrite");
  show(private + at);
  at += stride;
  private = mremap(private, size, size + 4096, MREMAP_MAYMOVE);
  must(private != MAP_FAILED, "mremap");
  show(private + at);
  at += stride;
  /* A store to this page does not hide the file's bytes. */
  memcpy(private + at, "private!", 8);
  must(pread(pool, bytes, 8, at) == 8, "pread");
  show(bytes);
  at += stride;
  /* From the pool into the pool: the bytes are there before the call has ended. */
  char* writable = map(PROT_READ | PROT_WRITE, MAP_SHARED, size);
  must(pread(pool, writable + at, 8, at) == 8, "pread of itself");
  show(writable + at);
  at += stride;

  /* Written first, by the file and by memory, and then read by both. */
  must(pwrite(pool, "written!", 8, at) == 8, "pwrite");
  show(shared + at);
  must(pread(pool, bytes, 8, at) == 8, "pread");
  show(bytes);
  at += stride;
  memcpy(writable + at, "stored!!", 8);
  must(pread(pool, bytes, 8, at) == 8, "pread");
  show(bytes);
  at += stride;
  must(lseek(pool, at, SEEK_SET) == at && write(pool, "written!", 8) == 8, "write");
  show(writable + at);
  return 0;
}
