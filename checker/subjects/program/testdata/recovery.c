/* A recovery program that behaves as its words say; `test-recovery HOW POOL [WORD]`. Its pool is an array of 8-byte
 * words: 0 a magic, 8 how many items are valid, from 512 on the items. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int constructed;
__attribute__((constructor)) static void construct(void) { ++constructed; }

static uint64_t* map(const char* path, uint64_t* size) {
  const int fd = open(path, O_RDWR);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) {
    perror(path);
    exit(90);
  }
  *size = (uint64_t)status.st_size;
  uint64_t* pool = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) exit(91);
  close(fd);
  return pool;
}

static void sleep_for_ever(void) {
  for (;;) pause();
}

/* Leaves a process that ignores what it can, in a session of its own, with the outputs open. */
static void leave_process(void) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sleep_for_ever();
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  const char* path = argv[2];
  const char* word = argc > 3 ? argv[3] : "0";
  uint64_t size;
  if (strcmp(how, "exit") == 0) return atoi(word);
  if (strcmp(how, "signal") == 0) return raise(atoi(word));
  if (strcmp(how, "hang") == 0) sleep_for_ever();
  /* The first run makes a file that is no pool, changes the image and takes a second. */
  if (strcmp(how, "late") == 0) {
    const int fd = open(word, O_WRONLY | O_CREAT | O_EXCL, 0600);
    const int image = open(path, O_RDWR);
    if (fd >= 0 && (pwrite(image, "late", 4, 0) != 4 || sleep(1) != 0)) return 97;
    char bytes[4] = {0};
    return pread(image, bytes, 4, 0) == 4 && strncmp(bytes, "late", 4) == 0 ? 96 : 0;
  }
  if (strcmp(how, "spin") == 0) {
    for (volatile int turn = 0;; ++turn) {
    }
  }
  if (strcmp(how, "stubborn") == 0) {
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    setpgid(0, 0);
    leave_process();
    sleep_for_ever();
  }
  if (strcmp(how, "leave") == 0) {
    leave_process();
    return 0;
  }
  if (strcmp(how, "orphan") == 0) { /* its child ends by itself */
    if (fork() == 0) _exit(0);
    return 0;
  }
  if (strcmp(how, "escape") == 0) { /* leaves a process, and nobody who would end it */
    leave_process();
    return kill(getppid(), SIGKILL);
  }
  if (strcmp(how, "kill-server") == 0) return kill(getppid(), SIGKILL);
  if (strcmp(how, "print") == 0) {
    char block[65536];
    memset(block, 'x', sizeof block);
    if (write(STDOUT_FILENO, "first ", 6) < 0) return 1;
    for (long left = atol(word); left > 0; left -= (long)sizeof block) {
      if (write(STDOUT_FILENO, block, sizeof block) < 0) return 1;
    }
    return write(STDOUT_FILENO, " last", 5) < 0;
  }
  if (strcmp(how, "constructed") == 0) { /* 1 in every run, whoever ran before */
    const int seen = getenv("POWERCUT_FORK_FD") != NULL || getenv("GLIBC_TUNABLES") != NULL;
    printf("%d %s\n", constructed, seen ? "seen" : "hidden");
    return 0;
  }
  if (strcmp(how, "input") == 0) return (int)read(STDIN_FILENO, &size, 1);
  if (strcmp(how, "truncate") == 0) return truncate(path, atol(word));
  if (strcmp(how, "delete") == 0) return unlink(path);
  if (strcmp(how, "replace") == 0) {
    char other[4096];
    snprintf(other, sizeof other, "%s.new", path);
    const int fd = open(other, O_RDWR | O_CREAT | O_TRUNC, 0644);
    return write(fd, "new", 3) != 3 || rename(other, path);
  }
  if (strcmp(how, "litter") == 0) { /* beside the pool: a file, and a folder with one in it */
    char other[4096];
    snprintf(other, sizeof other, "%s.lock", path);
    if (creat(other, 0600) < 0) return 1;
    snprintf(other, sizeof other, "%s.d", path);
    if (mkdir(other, 0700) != 0) return 2;
    strcat(other, "/file");
    return creat(other, 0600) < 0;
  }
  if (strcmp(how, "stat") == 0) { /* the pool by another call than open */
    struct stat status;
    if (stat(path, &status) != 0 || access(path, R_OK | W_OK) != 0) return 1;
    FILE* file = fopen(path, "r");
    if (file == NULL) return 2;
    uint64_t first = 0;
    if (fread(&first, sizeof first, 1, file) != 1) return 3;
    printf("%ld %lx\n", (long)status.st_size, (unsigned long)first);
    return 0;
  }

  uint64_t* pool = map(path, &size);
  if (strcmp(how, "first") == 0) { /* prints the first word, and changes it */
    printf("%lx\n", (unsigned long)pool[0]);
    pool[0] = ~pool[0];
    return 0;
  }
  if (strcmp(how, "scribble") == 0) {
    memset(pool, 0xee, size);
    return 0;
  }
  if (strcmp(how, "punch") == 0) {
    const int fd = open(path, O_RDWR);
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
  }
  if (strcmp(how, "address") == 0) {
    int here;
    printf("%p %p %p\n", (void*)pool, (void*)&here, (void*)main);
    return 0;
  }
  if (strcmp(how, "counts") == 0) { /* depends on a file that is no pool, and changes it */
    const int fd = open(word, O_RDWR | O_CREAT | O_APPEND, 0600);
    struct stat status;
    if (write(fd, "x", 1) != 1 || fstat(fd, &status) != 0) return 97;
    return (int)(status.st_size % 3);
  }
  if (strcmp(how, "fail-or-hang") == 0) { /* by which of the first three lines were lost */
    if (pool[0] != 0 && pool[8] != 0 && pool[16] == 0) sleep_for_ever();
    return pool[0] != 0 ? 4 : 0;
  }
  if (strcmp(how, "check") == 0) { /* exit 3: an item that counts as valid is not there */
    for (uint64_t item = 1; item <= pool[8]; ++item) {
      for (uint64_t part = 0; part < 4; ++part) {
        if (pool[512 + item * 32 + part * 8] == 100 * item + part) continue;
        fprintf(stderr, "item %lu has no part %lu\n", (unsigned long)item, (unsigned long)part);
        return 3;
      }
    }
    pool[9] = pool[8];
    return 0;
  }
  /* Puts word 24 back to what its log, words 16 and 17, says. "late": the log is cleared before that is durable. */
  if (strcmp(how, "undo") == 0) {
    if (pool[16] != 0) {
      pool[24] = pool[17];
      if (strcmp(word, "late") != 0) {
        _mm_clflush(&pool[24]);
        _mm_sfence();
      }
      pool[16] = 0;
      _mm_clflush(&pool[24]);
      _mm_clflush(&pool[16]);
      _mm_sfence();
    }
    return pool[24] == 99 ? 5 : 0;
  }
  if (strcmp(how, "dump") == 0) {
    for (uint64_t item = 1; item <= pool[8]; ++item) {
      printf("%lu %lu\n", (unsigned long)item, (unsigned long)pool[512 + item * 32]);
    }
    return 0;
  }
  return 98;
}
