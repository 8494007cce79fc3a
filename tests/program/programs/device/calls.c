/* Does to a file what a script says, one call a line; and tells what a file holds.
 *
 *   calls run SCRIPT FILE       lines: NAME [OFFSET] [LENGTH] [BYTE]
 *   calls collect FILE LOG      appends the file's bytes to LOG, as "size:BYTExCOUNT,…"
 *   calls again SCRIPT FILE LOG the same, and then what the script says
 *   calls odd FILE              everything that is not modelled on a device, each once
 *   calls child FILE            lets a child write to it
 *   calls map FILE              writes to it through a mapping, if it has a size
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void need(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(9);
}

static int is(const char* a, const char* b) { return strcmp(a, b) == 0; }

/* A file beside the device, of `length` bytes. */
static int source(long length, const char* bytes) {
  const int file = open("source", O_RDWR | O_CREAT | O_TRUNC, 0600);
  need(file >= 0 && write(file, bytes, (size_t)length) == length, "source");
  lseek(file, 0, SEEK_SET);
  return file;
}

/* 0: there is no such call. */
static int write_call(const char* name, const char* path, int file, long offset, long length, char* bytes) {
  const struct iovec parts[] = {{bytes, (size_t)length / 3}, {bytes, (size_t)(length - length / 3)}};
  loff_t at = offset;
  long done = -1;
  if (is(name, "write")) {
    lseek(file, offset, SEEK_SET);
    done = write(file, bytes, (size_t)length);
  } else if (is(name, "dup")) {
    const int other = dup(file);
    lseek(file, offset, SEEK_SET);
    done = write(other, bytes, (size_t)length);
    close(other);
  } else if (is(name, "writev")) {
    lseek(file, offset, SEEK_SET);
    done = writev(file, parts, 2);
  } else if (is(name, "pwrite")) {
    done = pwrite(file, bytes, (size_t)length, offset);
  } else if (is(name, "pwritev")) {
    done = pwritev(file, parts, 2, offset);
  } else if (is(name, "pwritev2")) {
    done = pwritev2(file, parts, 2, offset, 0);
  } else if (is(name, "raw")) {
    done = syscall(SYS_pwrite64, file, bytes, length, offset);
  } else if (is(name, "rwf_dsync")) {
    done = pwritev2(file, parts, 2, offset, RWF_DSYNC);
  } else if (is(name, "o_dsync") || is(name, "o_sync")) {
    const int other = open(path, O_WRONLY | (is(name, "o_sync") ? O_SYNC : O_DSYNC));
    done = pwrite(other, bytes, (size_t)length, offset);
    close(other);
  } else if (is(name, "append") || is(name, "append_at")) {
    const int other = open(path, O_WRONLY | O_APPEND);
    done = is(name, "append") ? write(other, bytes, (size_t)length) : pwrite(other, bytes, (size_t)length, 0);
    close(other);
  } else if (is(name, "o_direct")) {
    const int other = open(path, O_WRONLY | O_DIRECT);
    void* aligned = aligned_alloc(4096, 8192);
    memcpy(aligned, bytes, (size_t)length);
    done = other < 0 ? -1 : pwrite(other, aligned, (size_t)length, offset);
    if (done < 0) done = pwrite(file, bytes, (size_t)length, offset); /* not every file system has it */
    free(aligned);
    close(other);
  } else if (is(name, "copy_file_range")) {
    const int from = source(length, bytes);
    done = copy_file_range(from, NULL, file, &at, (size_t)length, 0);
    close(from);
  } else if (is(name, "sendfile")) {
    const int from = source(length, bytes);
    lseek(file, offset, SEEK_SET);
    done = sendfile(file, from, NULL, (size_t)length);
    close(from);
  } else if (is(name, "splice")) {
    int ends[2];
    need(pipe(ends) == 0 && write(ends[1], bytes, (size_t)length) == length, "pipe");
    done = splice(ends[0], NULL, file, &at, (size_t)length, 0);
    close(ends[0]);
    close(ends[1]);
  } else if (is(name, "stdio")) {
    FILE* stream = fopen(path, "r+");
    fseek(stream, offset, SEEK_SET);
    done = (long)fwrite(bytes, 1, (size_t)length, stream);
    fclose(stream);
  } else if (is(name, "zero")) {
    done = fallocate(file, FALLOC_FL_ZERO_RANGE, offset, length) == 0 ? length : -1;
    memset(bytes, 0, (size_t)length);
    if (done < 0) done = pwrite(file, bytes, (size_t)length, offset); /* not every file system has it */
  } else {
    return 0;
  }
  need(done == length, name);
  return 1;
}

static void call(const char* name, const char* path, int file, long offset, long length, char byte) {
  static char bytes[8192];
  memset(bytes, byte, sizeof bytes);
  int wrong = 0;
  if (write_call(name, path, file, offset, length, bytes)) return;
  if (is(name, "fsync")) {
    wrong = fsync(file);
  } else if (is(name, "fdatasync")) {
    wrong = fdatasync(file);
  } else if (is(name, "raw_fsync")) {
    wrong = (int)syscall(SYS_fsync, file);
  } else if (is(name, "syncfs")) {
    wrong = syncfs(file);
  } else if (is(name, "sync")) {
    sync();
  } else if (is(name, "sync_file_range")) {
    sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
  } else if (is(name, "ftruncate")) {
    wrong = ftruncate(file, offset);
  } else if (is(name, "truncate")) {
    wrong = truncate(path, offset);
  } else if (is(name, "o_trunc")) {
    wrong = close(open(path, O_WRONLY | O_TRUNC));
  } else if (is(name, "fallocate")) {
    wrong = fallocate(file, 0, offset, length);
  } else if (is(name, "posix_fallocate")) {
    wrong = posix_fallocate(file, offset, length);
  } else if (is(name, "keep_size")) {
    wrong = fallocate(file, FALLOC_FL_KEEP_SIZE, offset, length);
  } else if (is(name, "punch")) {
    wrong = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
  } else {
    errno = EINVAL;
    wrong = 1;
  }
  need(wrong == 0, name);
}

static int run(const char* script, const char* path) {
  FILE* lines = fopen(script, "r");
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  need(lines != NULL && file >= 0, path);
  char name[32], line[128];
  while (fgets(line, sizeof line, lines) != NULL) {
    long offset = 0, length = 0, byte = 0;
    sscanf(line, "%31s %ld %ld %ld", name, &offset, &length, &byte);
    call(name, path, file, offset, length, (char)byte);
  }
  return 0;
}

static int collect(const char* path, const char* log) {
  static unsigned char bytes[1 << 16];
  char out[1 << 14];
  const int file = open(path, O_RDONLY);
  const long size = read(file, bytes, sizeof bytes);
  need(size >= 0, path);
  int at = sprintf(out, "%ld:", size);
  for (long i = 0, begin = 0; i < size; ++i) {
    if (i + 1 < size && bytes[i + 1] == bytes[begin]) continue;
    at += sprintf(out + at, "%dx%ld,", bytes[begin], i + 1 - begin);
    begin = i + 1;
  }
  out[at++] = '\n';
  const int to = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  need(write(to, out, (size_t)at) == at, log);
  return 0;
}

static int odd(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  need(pwrite(file, "x", 1, 4095) == 1, path);
  char* read_only = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  need(read_only[4095] == 'x', "mmap to read");
  need(mprotect(read_only, 4096, PROT_READ | PROT_WRITE) == 0, "mprotect");
  char* mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  mapped[0] = 'm';
  struct aiocb block = {.aio_fildes = file, .aio_buf = "a", .aio_nbytes = 1, .aio_offset = 8};
  need(aio_write(&block) == 0, "aio_write");
  while (aio_error(&block) == EINPROGRESS) usleep(100);
  FILE* stream = fopen(path, "r+");
  fputs("s", stream);
  fclose(stream);
  char ring[128] = {0};
  const int uring = (int)syscall(SYS_io_uring_setup, 1, ring);
  if (uring >= 0) close(uring);
  need(link(path, "other") == 0 && unlink("other") == 0, "link");
  need(rename(path, "other") == 0 && rename("other", path) == 0, "rename");
  need(unlink(path) == 0, "unlink");
  return close(open(path, O_RDWR | O_CREAT, 0600));
}

static int child(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  need(pwrite(file, "parent", 6, 0) == 6 && fsync(file) == 0, path);
  if (fork() == 0) _exit(pwrite(file, "child", 5, 600) == 5 ? 0 : 1);
  int status = 0;
  wait(&status);
  return status;
}

static int map(const char* path) {
  const int file = open(path, O_RDWR);
  if (lseek(file, 0, SEEK_END) == 0) return 0;
  char* mapped = mmap(NULL, 512, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  need(mapped != MAP_FAILED, "mmap");
  mapped[0] = 'm';
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 4 && is(argv[1], "run")) return run(argv[2], argv[3]);
  if (argc == 4 && is(argv[1], "collect")) return collect(argv[2], argv[3]);
  if (argc == 5 && is(argv[1], "again")) return collect(argv[3], argv[4]) + run(argv[2], argv[3]);
  if (argc == 3 && is(argv[1], "odd")) return odd(argv[2]);
  if (argc == 3 && is(argv[1], "child")) return child(argv[2]);
  if (argc == 3 && is(argv[1], "map")) return map(argv[2]);
  return 2;
}
