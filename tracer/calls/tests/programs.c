/* Small programs, one call or race each, whose calls the tracer must record exactly (cases.toml). The first argument
 * names the program; each works in the folder of the process and writes sectors of one letter. A failing call that a
 * program needs ends it with status 1. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { kSector = 512, kMost = 8 };
#define NEED(what) need((long)(what), #what, __LINE__)

static long need(long result, const char* what, int line) {
  if (result >= 0) return result;
  fprintf(stderr, "programs.c:%d: %s: %s\n", line, what, strerror(errno));
  exit(1);
}
static void refused(long result, int error) {
  if (result >= 0 || errno != error) exit(2);
}
static char sectors[kMost * kSector];
static size_t fill(const char* letters) {
  for (size_t i = 0; letters[i]; ++i) memset(sectors + i * kSector, letters[i], kSector);
  return strlen(letters) * kSector;
}
static int file(const char* name, int flags) { return (int)NEED(open(name, O_RDWR | flags, 0644)); }
static int new_file(const char* name) { return file(name, O_CREAT); }
static void put(int fd, int sector, const char* letters) { NEED(pwrite(fd, sectors, fill(letters), sector * kSector)); }
static void put_next(int fd, const char* letters) { NEED(write(fd, sectors, fill(letters))); }
static void in_child(void (*body)(int), int argument) {
  const pid_t child = (pid_t)NEED(fork());
  if (child == 0) {
    body(argument);
    _exit(0);
  }
  int status = 0;
  NEED(waitpid(child, &status, 0));
  if (status != 0) exit(3);
}

static void p_creat(void) { NEED(creat("a", 0644)); }
static void p_open(void) { new_file("a"), new_file("a"), file("a", O_CREAT | O_TRUNC); }
static void p_openat(void) {
  NEED(mkdir("d", 0755));
  const int folder = (int)NEED(open("d", O_RDONLY));
  NEED(openat(folder, "x", O_CREAT | O_WRONLY | O_EXCL, 0644));
}
static void p_openat2(void) {
  struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 0644};
  const int fd = (int)NEED(syscall(SYS_openat2, AT_FDCWD, "a", &how, sizeof how));
  put(fd, 0, "X");
  how = (struct open_how){.flags = O_TRUNC | O_RDWR};
  NEED(syscall(SYS_openat2, AT_FDCWD, "a", &how, sizeof how));
}
static void p_folders(void) {
  NEED(mkdir("d", 0755)), NEED(mkdirat(AT_FDCWD, "d/e", 0755));
  NEED(rmdir("d/e")), NEED(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR));
}
static void p_symlinks(void) { NEED(symlink("none", "a")), NEED(symlinkat("a", AT_FDCWD, "b")), NEED(unlink("a")); }
static void p_links(void) {
  new_file("a");
  NEED(link("a", "b")), NEED(linkat(AT_FDCWD, "b", AT_FDCWD, "c", 0)), NEED(unlink("a"));
  put(file("c", 0), 0, "X");
}
static void p_mknod(void) { NEED(mknod("a", S_IFREG | 0644, 0)), NEED(mknodat(AT_FDCWD, "b", S_IFREG | 0644, 0)); }
static void p_renames(void) {
  put(new_file("a"), 0, "X");
  put(new_file("b"), 0, "Y");
  NEED(rename("a", "c")), NEED(renameat(AT_FDCWD, "c", AT_FDCWD, "b")), NEED(mkdir("d", 0755));
  NEED(renameat2(AT_FDCWD, "b", AT_FDCWD, "d/e", RENAME_NOREPLACE)), NEED(rename("d", "f"));
}
static void p_exchange(void) {
  put(new_file("a"), 0, "X");
  NEED(mkdir("d", 0755));
  NEED(renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE));
}
static void p_rename_of_one_file(void) {
  new_file("a");
  NEED(link("a", "b")), NEED(rename("a", "b"));
}
static void p_failures(void) {
  new_file("a");
  refused(mkdir("a", 0755), EEXIST), refused(open("a", O_CREAT | O_EXCL, 0644), EEXIST), refused(unlink("b"), ENOENT);
  refused(rename("b", "c"), ENOENT), refused(link("b", "c"), ENOENT), refused(rmdir("a"), ENOTDIR);
  refused(truncate("a", -1), EINVAL), refused(open("n/a", O_CREAT, 0644), ENOENT), refused(symlink("x", "a"), EEXIST);
  refused(renameat2(AT_FDCWD, "a", AT_FDCWD, "a", RENAME_NOREPLACE), EEXIST);
  refused(write(open("a", O_RDONLY), "x", 1), EBADF), refused(pwrite(1000, "x", 1, 0), EBADF);
}
static void p_writes(void) {
  const int fd = new_file("a");
  put_next(fd, "A");
  put(fd, 3, "DE");
  struct iovec two[] = {{sectors, kSector}, {sectors + kSector, kSector}};
  fill("BC"), NEED(writev(fd, two, 2));
  fill("FG"), NEED(pwritev(fd, two, 2, 5 * kSector));
  fill("H"), NEED(pwritev2(fd, two, 1, 7 * kSector, 0));
  NEED(lseek(fd, 0, SEEK_SET)), fill("I"), NEED(pwritev2(fd, two, 1, -1, 0));
}
static void p_appends(void) {
  const int fd = file("a", O_CREAT | O_APPEND), plain = file("a", 0);
  put_next(fd, "A"), put(fd, 0, "B"), put_next(fd, "C");
  struct iovec one = {sectors, kSector};
  fill("D"), NEED(pwritev2(plain, &one, 1, 0, RWF_APPEND));
}
static void p_through(void) {
  put(file("a", O_CREAT | O_DSYNC), 0, "X");
  put(file("a", O_SYNC), 1, "Y");
  struct iovec one = {sectors, kSector};
  const int fd = file("a", 0);
  fill("Z"), NEED(pwritev2(fd, &one, 1, 0, RWF_DSYNC)), NEED(pwritev2(fd, &one, 1, kSector, RWF_SYNC));
}
static void p_write_only(void) {
  const int fd = (int)NEED(open("a", O_CREAT | O_WRONLY, 0200));
  put(fd, 0, "X");
}
/* Writes that end early or fail by what the process itself has: its limit on files, and its memory. */
static void p_own_limits(void) {
  const int fd = new_file("a");
  const struct rlimit limit = {2 * kSector, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
  signal(SIGXFSZ, SIG_IGN);
  NEED(setrlimit(RLIMIT_FSIZE, &limit));
  NEED(pwrite(fd, sectors, fill("AB"), kSector)), refused(pwrite(fd, sectors, kSector, 2 * kSector), EFBIG);
  NEED(setrlimit(RLIMIT_FSIZE, &none)), put(fd, 2, "C");
}
static void p_own_memory(void) {
  const int fd = new_file("a");
  const size_t page = 4096;
  char* const at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NEED(mprotect(at + page, page, PROT_NONE));
  memset(at, 'X', page);
  NEED(pwrite(fd, at + page - kSector, 2 * kSector, 0));
  refused(pwrite(fd, at + page, kSector, 0), EFAULT), refused(pwrite(fd, NULL, kSector, 0), EFAULT);
  refused(pwrite(fd, at, kSector, -kSector), EINVAL), refused(write(fd, at, (size_t)-1), EFAULT);
}
static void p_copies(void) {
  const int from = new_file("a"), to = new_file("b");
  put(from, 0, "XYZ");
  off_t first = 0, second = kSector;
  loff_t third = 2 * kSector, place = 4 * kSector;
  NEED(sendfile(to, from, &first, kSector));
  NEED(copy_file_range(from, &second, to, NULL, kSector, 0));
  NEED(copy_file_range(from, &third, to, &place, kSector, 0));
  int ends[2];
  NEED(pipe(ends)), fill("P"), NEED(write(ends[1], sectors, kSector));
  place = 5 * kSector;
  NEED(splice(ends[0], NULL, to, &place, kSector, 0));
}
static void p_sizes(void) {
  const int fd = new_file("a");
  put(fd, 0, "XY");
  NEED(ftruncate(fd, kSector)), NEED(ftruncate(fd, kSector)), NEED(truncate("a", 3 * kSector));
  file("a", O_TRUNC), file("a", O_TRUNC);
}
static void p_allocations(void) {
  const int fd = new_file("a");
  NEED(fallocate(fd, 0, 0, 2 * kSector)), NEED(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4 * kSector));
  put(fd, 0, "XY");
  NEED(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSector));
}
static void p_syncs(void) {
  const int fd = new_file("a"), folder = (int)NEED(open(".", O_RDONLY));
  NEED(fsync(fd)), NEED(fdatasync(fd)), NEED(fsync(folder)), NEED(sync_file_range(fd, 0, kSector, 7));
  sync(), NEED(syncfs(folder));
}
static void p_tmpfile(void) {
  const int fd = (int)NEED(open(".", O_TMPFILE | O_RDWR, 0644));
  put(fd, 0, "X"), NEED(fsync(fd));
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  NEED(linkat(AT_FDCWD, path, AT_FDCWD, "a", AT_SYMLINK_FOLLOW));
  NEED(linkat(AT_FDCWD, path, AT_FDCWD, "b", AT_SYMLINK_FOLLOW));
}
static void p_paths(void) {
  NEED(mkdir("d", 0755)), NEED(symlink("d", "l")), NEED(symlink("d/made", "to"));
  new_file("l/../l/x"), new_file("to"), NEED(chdir("d")), new_file("../y"), new_file("./z"), NEED(unlink("../to"));
}
static void p_dup(void) {
  const int fd = new_file("a"), second = (int)NEED(dup(fd)), third = (int)NEED(fcntl(fd, F_DUPFD, 50));
  NEED(dup2(fd, 60)), NEED(dup3(fd, 61, O_CLOEXEC));
  put_next(fd, "A"), put_next(second, "B"), put_next(third, "C"), put_next(60, "D"), put_next(61, "E");
}
static void write_in_child(int fd) { put_next(fd, "B"); }
static void p_fork(void) {
  const int fd = new_file("a");
  put_next(fd, "A"), in_child(write_in_child, fd), put_next(fd, "C");
}
static void p_exec(void) {
  NEED(dup2(new_file("a"), 1)), file("b", O_CREAT | O_CLOEXEC);
  const pid_t child = vfork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "printf X; exec printf Y", NULL);
    _exit(1);
  }
  NEED(waitpid(child, NULL, 0));
}
static void send_file(int socket, int fd) {
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec bytes = {"x", 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  NEED(sendmsg(socket, &message, 0));
}
static void receive_and_write(int socket) {
  union {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  char byte;
  struct iovec bytes = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  NEED(recvmsg(socket, &message, 0));
  int fd;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  put_next(fd, "X");
}
static void p_sent_descriptor(void) {
  int pair[2];
  NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  const pid_t child = (pid_t)NEED(fork());
  if (child == 0) {
    receive_and_write(pair[1]);
    _exit(0);
  }
  send_file(pair[0], new_file("a"));
  NEED(waitpid(child, NULL, 0));
}
static void p_fetched_descriptor(void) {
  const int fd = new_file("a"), self = (int)NEED(syscall(SYS_pidfd_open, getpid(), 0));
  put_next((int)NEED(syscall(SYS_pidfd_getfd, self, fd, 0)), "X");
}
static void* write_in_thread(void* fd) {
  put_next(*(int*)fd, "B");
  return NULL;
}
static void p_thread(void) {
  int fd = new_file("a");
  pthread_t thread;
  put_next(fd, "A");
  pthread_create(&thread, NULL, write_in_thread, &fd), pthread_join(thread, NULL);
  put_next(fd, "C");
}
/* Threads that live at once, each of which has made a call. */
static pthread_barrier_t barrier;
static void* sync_in_thread(void* fd) {
  NEED(fsync(*(int*)fd)), pthread_barrier_wait(&barrier);
  return NULL;
}
static void p_many_threads(void) {
  enum { kThreads = 100 };
  pthread_t threads[kThreads];
  int fd = new_file("a");
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, sync_in_thread, &fd);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}
static void* exec_in_thread(void* nothing) {
  (void)nothing;
  execlp("sh", "sh", "-c", ": > b", NULL);
  return NULL;
}
static void p_exec_in_thread(void) {
  new_file("a");
  pthread_t thread;
  pthread_create(&thread, NULL, exec_in_thread, NULL), pthread_join(thread, NULL);
}
static void* own_table(void* fd) {
  NEED(unshare(CLONE_FILES));
  NEED(dup2(file("b", 0), *(int*)fd));
  put_next(*(int*)fd, "B");
  return NULL;
}
static void p_thread_with_own_descriptors(void) {
  int fd = new_file("a");
  new_file("b");
  pthread_t thread;
  pthread_create(&thread, NULL, own_table, &fd), pthread_join(thread, NULL);
  put_next(fd, "A");
}
static void p_unlinked(void) {
  const int fd = new_file("a");
  NEED(unlink("a")), put(fd, 0, "X"), NEED(fsync(fd));
}
static void p_numbers_again(void) {
  for (int i = 0; i < 3; ++i) {
    const int fd = new_file("a");
    put(fd, 0, "X"), NEED(close(fd)), NEED(unlink("a"));
  }
}
/* A file outside may get the number of one that has gone. */
static void p_number_goes_outside(void) {
  NEED(close(new_file("a"))), NEED(unlink("a"));
  put(new_file("../outside"), 0, "X"), NEED(unlink("../outside"));
}
static char* map_file(int fd) {
  NEED(ftruncate(fd, 8 * kSector));
  char* out = mmap(NULL, 8 * kSector, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (out == MAP_FAILED) exit(1);
  return out;
}
static void p_mapping(void) {
  const int fd = new_file("a");
  char* const at = map_file(fd);
  memset(at, 'X', kSector), NEED(msync(at, 8 * kSector, MS_SYNC));
  memset(at + kSector, 'Y', kSector), NEED(fsync(fd));
  memset(at + 2 * kSector, 'Z', kSector), NEED(munmap(at, 8 * kSector));
}
// As LMDB and bbolt map what they write by calls.
static void p_mapping_that_reads(void) {
  const int fd = new_file("a");
  NEED(pwrite(fd, "X", 1, 0));
  const char* const at = mmap(NULL, kSector, PROT_READ, MAP_SHARED, fd, 0);
  NEED(pwrite(fd, "Y", 1, 1)), NEED(fsync(fd));
  if (at == MAP_FAILED || at[1] != 'Y') exit(1);
  char* const memory = mmap(NULL, kSector, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NEED(mprotect(memory, kSector, PROT_READ | PROT_WRITE)), memory[0] = 'Z';
}
static void p_mapping_that_writes_later(void) {
  const int fd = new_file("a");
  NEED(ftruncate(fd, kSector));
  char* const at = mmap(NULL, kSector, PROT_READ, MAP_SHARED, fd, 0);
  NEED(mprotect(at, kSector, PROT_READ | PROT_WRITE));
  memset(at, 'X', kSector), NEED(fsync(fd));
}
static void p_mapping_at_the_end(void) { memset(map_file(new_file("a")) + kSector, 'X', kSector); }
static void p_mapping_unlinked(void) { memset(map_file(new_file("a")), 'X', kSector), NEED(unlink("a")); }
static void p_refused(void) {
  char room[256] = {0};
  refused(syscall(SYS_io_uring_setup, 1, room), ENOSYS);
  aio_context_t context = 0;
  refused(syscall(SYS_io_setup, 1, &context), ENOSYS);
  const int to = new_file("a"), from = new_file("b");
  refused(ioctl(to, FICLONE, from), EOPNOTSUPP);
}
static void p_attributes(void) {
  const int fd = new_file("a");
  NEED(chmod("a", 0600)), NEED(fchmod(fd, 0644)), NEED(chown("a", geteuid(), getegid())), NEED(futimens(fd, NULL));
  NEED(utimensat(AT_FDCWD, "a", NULL, 0)), NEED(utimes("a", NULL)), NEED(fchmodat(AT_FDCWD, "a", 0600, 0));
}
static void p_large_write(void) {
  char* const bytes = malloc(200 * 1024);
  memset(bytes, 'X', 200 * 1024);
  NEED(pwrite(new_file("a"), bytes, 200 * 1024, kSector));
}
static void p_stopped(void) {
  const pid_t child = (pid_t)NEED(fork());
  if (child == 0) {
    raise(SIGSTOP), new_file("a");
    _exit(0);
  }
  int status;
  NEED(waitpid(child, &status, WUNTRACED));
  usleep(20000); /* a child that goes on makes its file by now */
  new_file("b"), NEED(kill(child, SIGCONT)), NEED(waitpid(child, &status, 0));
}
static void p_killed(void) { new_file("a"), raise(SIGKILL); }
static void p_fifo(void) { NEED(mkfifo("a", 0644)); }
static void p_moved_in(void) { put(new_file("../outside"), 0, "X"), NEED(rename("../outside", "a")); }
static void p_moved_out(void) {
  put(new_file("a"), 0, "X"), NEED(rename("a", "../outside")), NEED(unlink("../outside"));
}
static void p_folder_removed(void) {
  new_file("a"), NEED(unlink("a")), refused(rmdir(".."), ENOTEMPTY), NEED(rmdir("../folder"));
  NEED(mkdir("../folder", 0755)), NEED(chdir("../folder")), new_file("b");
}
static void p_folder_renamed(void) {
  new_file("a"), NEED(rename("../folder", "../other")), new_file("b"), NEED(rename("../other", "../folder"));
}
static void p_traces(void) { refused(ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM), new_file("a"); }
static void p_old_code(void) {
  long result = 20; /* getpid of 32-bit code */
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  new_file("a");
}
static void p_outlived(void) {
  new_file("a");
  if (fork() == 0) {
    setsid();
    sleep(60);
    new_file("b");
  }
}
/* Each process ends while its child has hardly begun, as that of a daemon does; the last one makes the file. */
static void p_left_child(void) {
  for (int i = 0; i < 20; ++i) {
    if (fork() != 0) return;
  }
  new_file("a");
}
/* Two threads change the folder in turn, over a pipe: the order is theirs. */
static int turns[2][2];
static void* second_player(void* nothing) {
  char byte;
  (void)nothing;
  for (int i = 0; i < 3; ++i) {
    NEED(read(turns[0][0], &byte, 1)), put(file("b", 0), i, "B"), NEED(write(turns[1][1], &byte, 1));
  }
  return NULL;
}
static void p_turns(void) {
  char byte = 0;
  pthread_t thread;
  const int fd = new_file("a");
  new_file("b");
  NEED(pipe(turns[0])), NEED(pipe(turns[1]));
  pthread_create(&thread, NULL, second_player, NULL);
  for (int i = 0; i < 3; ++i) put(fd, i, "A"), NEED(write(turns[0][1], &byte, 1)), NEED(read(turns[1][0], &byte, 1));
  pthread_join(thread, NULL);
}
/* A splice into a file waits for another thread, whose own call on the folder comes first. */
static void* feeder(void* pipe_end) {
  new_file("b"), fill("X");
  NEED(write(*(int*)pipe_end, sectors, kSector));
  return NULL;
}
static void p_waits_for_another(void) {
  int ends[2];
  pthread_t thread;
  NEED(pipe(ends));
  const int fd = new_file("a");
  pthread_create(&thread, NULL, feeder, &ends[1]);
  NEED(splice(ends[0], NULL, fd, NULL, kSector, 0)), pthread_join(thread, NULL);
}

/* 100,000 writes, a thousand syncs among them. */
static void p_many(void) {
  const int fd = new_file("a");
  for (int i = 0; i < 100000; ++i) {
    put(fd, i % 100, "X");
    if (i % 100 == 0) NEED(fdatasync(fd));
  }
}

/* Threads and processes change a few names and files at random; only the final tree is known. */
static void random_calls(unsigned seed, int rounds) {
  char name[8], other[8];
  for (int i = 0; i < rounds; ++i) {
    snprintf(name, sizeof name, "%c", 'a' + rand_r(&seed) % 5);
    snprintf(other, sizeof other, "%c", 'a' + rand_r(&seed) % 5);
    const int what = rand_r(&seed) % 9, fd = what < 5 ? open(name, O_RDWR | O_CREAT, 0644) : -1;
    memset(sectors, 'a' + (int)(seed % 26), 64);
    if (what == 0) pwrite(fd, sectors, 64, rand_r(&seed) % 5000);
    if (what == 1) lseek(fd, 0, SEEK_END), write(fd, sectors, 64);
    if (what == 2) ftruncate(fd, rand_r(&seed) % 5000);
    if (what == 3) fsync(fd);
    if (what == 4) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, rand_r(&seed) % 3000, 700);
    if (what == 5) rename(name, other);
    if (what == 6) link(name, other);
    if (what == 7) unlink(name);
    if (what == 8) close(open(name, O_WRONLY | O_APPEND | O_TRUNC));
    if (fd >= 0) close(fd);
  }
}
static void* random_thread(void* seed) {
  random_calls(*(unsigned*)seed, 60);
  return NULL;
}
static void p_random(const char* seed) {
  unsigned seeds[4];
  pthread_t threads[3];
  for (unsigned i = 0; i < 4; ++i) seeds[i] = (unsigned)atoi(seed) * 4 + i;
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, random_thread, &seeds[i]);
  const pid_t child = fork();
  if (child == 0) {
    random_calls(seeds[3], 60);
    _exit(0);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  NEED(waitpid(child, NULL, 0));
}

/* Processes are killed within their calls, which may have been made. Each made forty rounds before. */
static void p_random_kills(const char* seed) {
  unsigned chance = (unsigned)atoi(seed);
  int started[2];
  NEED(pipe(started));
  for (unsigned round = 0; round < 5; ++round) {
    pid_t children[3];
    for (unsigned i = 0; i < 3; ++i) {
      children[i] = (pid_t)NEED(fork());
      if (children[i] == 0) {
        random_calls(chance * 100 + round * 10 + i, 40);
        NEED(write(started[1], "", 1));
        random_calls(chance * 100 + round * 10 + i, 1000000);
        _exit(0);
      }
    }
    char byte;
    for (int i = 0; i < 3; ++i) NEED(read(started[0], &byte, 1));
    for (int i = 0; i < 3; ++i) usleep((unsigned)rand_r(&chance) % 4000), NEED(kill(children[i], SIGKILL));
    for (int i = 0; i < 3; ++i) NEED(waitpid(children[i], NULL, 0));
  }
}

#define PROGRAM(name) {#name, p_##name}
static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {PROGRAM(creat),
                PROGRAM(open),
                PROGRAM(openat),
                PROGRAM(openat2),
                PROGRAM(folders),
                PROGRAM(symlinks),
                PROGRAM(links),
                PROGRAM(mknod),
                PROGRAM(renames),
                PROGRAM(exchange),
                PROGRAM(rename_of_one_file),
                PROGRAM(failures),
                PROGRAM(writes),
                PROGRAM(appends),
                PROGRAM(through),
                PROGRAM(write_only),
                PROGRAM(own_limits),
                PROGRAM(own_memory),
                PROGRAM(copies),
                PROGRAM(sizes),
                PROGRAM(allocations),
                PROGRAM(syncs),
                PROGRAM(tmpfile),
                PROGRAM(paths),
                PROGRAM(dup),
                PROGRAM(fork),
                PROGRAM(exec),
                PROGRAM(sent_descriptor),
                PROGRAM(fetched_descriptor),
                PROGRAM(thread),
                PROGRAM(many_threads),
                PROGRAM(exec_in_thread),
                PROGRAM(thread_with_own_descriptors),
                PROGRAM(unlinked),
                PROGRAM(numbers_again),
                PROGRAM(number_goes_outside),
                PROGRAM(mapping),
                PROGRAM(mapping_that_reads),
                PROGRAM(mapping_that_writes_later),
                PROGRAM(mapping_at_the_end),
                PROGRAM(mapping_unlinked),
                PROGRAM(refused),
                PROGRAM(attributes),
                PROGRAM(large_write),
                PROGRAM(stopped),
                PROGRAM(killed),
                PROGRAM(fifo),
                PROGRAM(moved_in),
                PROGRAM(moved_out),
                PROGRAM(folder_removed),
                PROGRAM(folder_renamed),
                PROGRAM(traces),
                PROGRAM(old_code),
                PROGRAM(outlived),
                PROGRAM(left_child),
                PROGRAM(turns),
                PROGRAM(waits_for_another),
                PROGRAM(many)};

int main(int count, char** words) {
  if (count == 3) {
    (strcmp(words[1], "random") == 0 ? p_random : p_random_kills)(words[2]);
    return 0;
  }
  for (size_t i = 0; count == 2 && i < sizeof programs / sizeof *programs; ++i) {
    if (strcmp(words[1], programs[i].name) != 0) continue;
    programs[i].run();
    return 0;
  }
  return 64;
}
