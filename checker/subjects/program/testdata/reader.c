/* A recovery that reads its pool as its words say, and prints what it read; `test-reader HOW POOL`. Built three times:
 * as anybody would, by the compiler pass, and with callbacks. All that it reads lies in the first 512 bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int file;
static unsigned char* pool;
static uint64_t size;

static unsigned char* map(int protection, int flags, off_t offset, size_t length) {
  unsigned char* const mapped = mmap(NULL, length, protection, flags, file, offset);
  if (mapped == MAP_FAILED) exit(91);
  return mapped;
}

static uint64_t word(size_t offset) { return *(volatile uint64_t*)(pool + offset); }

static int by_first_byte(const void* a, const void* b) { return *(const unsigned char*)a - *(const unsigned char*)b; }

static void* in_thread(void* argument) {
  *(uint64_t*)argument += word(64);
  return NULL;
}

/* One instruction that has to run by itself: its result, and memory, are known only behind it. */
static uint64_t times(size_t offset, uint64_t factor) {
  asm volatile("imul (%1), %0" : "+r"(factor) : "r"(pool + offset) : "cc", "memory");
  return factor;
}

/* Reads every other line of 512 bytes, again and again, and sums up. */
struct share {
  size_t first;
  uint64_t sum;
};
static void* in_turns(void* argument) {
  struct share* const share = argument;
  for (int turn = 0; turn < 5; ++turn) {
    for (size_t offset = share->first; offset < 512; offset += 128) share->sum += times(offset, 3) + word(offset + 8);
  }
  return NULL;
}

static uint64_t by_threads(int count) {
  pthread_t threads[4];
  struct share shares[4] = {{0, 0}, {64, 0}, {16, 0}, {80, 0}};
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, in_turns, &shares[i]) != 0) exit(92);
  }
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    sum = sum * 31 + shares[i].sum;
  }
  return sum;
}

/* Sleeps whole, whatever the other thread does. */
static void* sleeps(void* argument) {
  const struct timespec some = {0, 3000000};
  for (int i = 0; i < 10; ++i) *(uint64_t*)argument += (uint64_t)(nanosleep(&some, NULL) != 0);
  return NULL;
}

static void* overwrites(void* argument) {
  *(volatile uint64_t*)(pool + 256) = (uint64_t)(uintptr_t)argument;
  return NULL;
}

/* A child's reads come back by a pipe. */
static uint64_t by_child(void) {
  int ends[2], status = 0;
  uint64_t read_there = 0;
  if (pipe(ends) != 0) exit(92);
  const pid_t child = fork();
  if (child == 0) {
    read_there = word(64) + times(128, 3);
    _exit(write(ends[1], &read_there, sizeof read_there) != sizeof read_there);
  }
  const uint64_t here = word(192);
  if (waitpid(child, &status, 0) != child || status != 0) exit(93);
  if (read(ends[0], &read_there, sizeof read_there) != sizeof read_there) exit(94);
  return read_there * 31 + here;
}

/* The address is computed out of the compiler's sight. */
static uint32_t load_by_assembly(const unsigned char* from) {
  uint32_t out;
  asm volatile("lea (%1), %%rcx\n\tmov (%%rcx), %0" : "=r"(out) : "r"(from) : "rcx", "memory");
  return out;
}

static void copy_by_assembly(void* to, const void* from, size_t count) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

/* How many bytes are alike before the first difference. */
static size_t same_by_assembly(const void* a, const void* b, size_t count) {
  const size_t all = count;
  asm volatile("repe cmpsb" : "+S"(a), "+D"(b), "+c"(count) : : "cc", "memory");
  return all - count;
}

__attribute__((target("avx2"))) static uint64_t gathered(const unsigned char* from) {
  if (!__builtin_cpu_supports("avx2")) return from[0];
  const int offsets[8] = {0, 64, 128, 200, 256, 320, 400, 480};
  uint32_t out[8];
  asm volatile(
      "vmovdqu (%1), %%ymm1\n\t"
      "vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n\t"
      "vpgatherdd %%ymm2, (%2,%%ymm1,1), %%ymm0\n\t"
      "vmovdqu %%ymm0, (%0)"
      :
      : "r"(out), "r"(offsets), "r"(from)
      : "ymm0", "ymm1", "ymm2", "memory");
  uint64_t sum = 0;
  for (int i = 0; i < 8; ++i) sum = sum * 31 + out[i];
  return sum;
}

/* One instruction on memory at %[m], with rax and rcx at hand: what it leaves in rax, and the flags that it defines. */
#define INSTRUCTION(text, offset)                                                                  \
  do {                                                                                             \
    uint64_t value = 0x8877665544332211, count = 3, flags;                                         \
    unsigned char* at = pool + (offset);                                                           \
    asm volatile("xor %%edx, %%edx\n\t" text "\n\tpushfq\n\tpopq %[flags]"                         \
                 : [a] "+a"(value), [c] "+c"(count), [m] "+D"(at), [flags] "=&r"(flags)            \
                 :                                                                                 \
                 : "cc", "rdx", "rsi", "xmm0", "memory");                                          \
    sum = (((sum * 31 + value) * 31 + count) * 31 + (uint64_t)(at - pool)) * 31 + (flags & 0x8c5); \
  } while (0)

__attribute__((noinline)) static uint64_t by_instructions(void) {
  uint64_t sum = 0;
  INSTRUCTION("mov (%[m]), %%al", 0);
  INSTRUCTION("mov (%[m]), %%ah", 3);
  INSTRUCTION("mov (%[m]), %%ax", 63); /* across lines */
  INSTRUCTION("mov 4(%[m],%[c],4), %%eax", 64);
  INSTRUCTION("mov (%[m]), %%rax", 124);
  INSTRUCTION("movzbw (%[m]), %%ax", 8);
  INSTRUCTION("movzbl (%[m]), %%eax", 9);
  INSTRUCTION("movzwl (%[m]), %%eax", 10);
  INSTRUCTION("movsbw (%[m]), %%ax", 12);
  INSTRUCTION("movsbq (%[m]), %%rax", 13);
  INSTRUCTION("movswl (%[m]), %%eax", 14);
  INSTRUCTION("movslq (%[m]), %%rax", 16);
  INSTRUCTION("add (%[m]), %%al", 20);
  INSTRUCTION("add (%[m]), %%ax", 21);
  INSTRUCTION("add (%[m]), %%eax", 24);
  INSTRUCTION("add (%[m]), %%rax", 32);
  INSTRUCTION("sub (%[m]), %%al", 40);
  INSTRUCTION("sub (%[m]), %%eax", 44);
  INSTRUCTION("sub (%[m]), %%rax", 48);
  INSTRUCTION("and (%[m]), %%ax", 56);
  INSTRUCTION("or (%[m]), %%eax", 60);
  INSTRUCTION("xor (%[m]), %%rax", 72);
  INSTRUCTION("cmp (%[m]), %%al", 80);
  INSTRUCTION("cmp (%[m]), %%rax", 88);
  INSTRUCTION("cmp %%eax, (%[m])", 96);
  INSTRUCTION("cmpb $0x61, (%[m])", 100);
  INSTRUCTION("cmpw $-7, (%[m])", 102);
  INSTRUCTION("cmpq $-7, (%[m])", 104);
  INSTRUCTION("test %%al, (%[m])", 112);
  INSTRUCTION("testl $0x80000061, (%[m])", 116);
  INSTRUCTION("adc (%[m]), %%rax", 132);
  INSTRUCTION("imul (%[m]), %%rax", 144);
  INSTRUCTION("cmovz (%[m]), %%rax", 152);
  INSTRUCTION("push (%[m])\n\tpop %%rax", 176);
  INSTRUCTION("movdqu (%[m]), %%xmm0\n\tmovq %%xmm0, %%rax", 185);
  INSTRUCTION("mov %%al, (%[m])", 256);
  INSTRUCTION("mov %%ax, (%[m])", 258);
  INSTRUCTION("mov %%eax, (%[m])", 260);
  INSTRUCTION("mov %%rax, (%[m])", 264);
  INSTRUCTION("movb $7, (%[m])", 272);
  INSTRUCTION("movq $-3, (%[m])", 280);
  INSTRUCTION("addl %%eax, (%[m])", 288);
  INSTRUCTION("incq (%[m])", 296);
  INSTRUCTION("xchg %%eax, (%[m])", 304);
  INSTRUCTION("sete (%[m])", 308);
  INSTRUCTION("rep stosw", 312);
  INSTRUCTION("lea -40(%[m]), %%rsi\n\trep movsl", 400);
  INSTRUCTION("lea -2(%[m]), %%rsi\n\trep movsw", 416); /* each turn reads what the one before wrote */
  INSTRUCTION("std\n\tlea 100(%[m]), %%rsi\n\trep movsb\n\tcld", 320);
  for (size_t offset = 256; offset < 448; offset += 8) sum = sum * 31 + word(offset);
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* how = argv[1];
  unsigned char copy[512] = {0};
  uint64_t sum = 0;
  file = open(argv[2], O_RDWR);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 90;
  size = (uint64_t)status.st_size;
#define IS(name) (strcmp(how, name) == 0)
  if (IS("pread")) return pread(file, copy, 40, 100) != 40 || write(STDOUT_FILENO, copy, 40) != 40;
  if (IS("fread")) { /* all of a block: more than it asks for */
    FILE* stream = fdopen(file, "r");
    if (fseek(stream, 24, SEEK_SET) != 0 || fread(copy, 16, 1, stream) != 1) return 92;
    return fwrite(copy, 16, 1, stdout) != 1;
  }
  if (IS("readv")) {
    const struct iovec parts[2] = {{copy, 10}, {copy + 100, 20}};
    if (lseek(file, 200, SEEK_SET) != 200 || readv(file, parts, 2) != 30) return 92;
    return write(STDOUT_FILENO, copy, sizeof copy) != sizeof copy;
  }
  if (IS("private")) {
    pool = map(PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 4096);
    pool[8] = 1; /* not in the file */
    printf("%d %d\n", pool[8], pool[16]);
    return 0;
  }
  void* const place = (void*)0x600000000000;
  if (IS("placed") || IS("hinted")) {
    pool = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | (IS("placed") ? MAP_FIXED : 0), file, 0);
    sum = word(8) + (pool == place);
    printf("%.8s", (const char*)pool + 72);
  } else {
    pool = map(PROT_READ | PROT_WRITE, MAP_SHARED, 0, size);
  }
  if (IS("placed") || IS("hinted")) {
    memcpy(copy, pool + 16, 3);
  } else if (IS("loads")) {
    sum = word(0) + pool[9] + *(uint16_t*)(pool + 62) + *(uint32_t*)(pool + 126); /* across lines */
  } else if (IS("chain")) { /* what is read depends on what was read */
    size_t at = pool[0] % 64 * 8;
    for (int i = 0; i < 4; ++i) {
      sum = sum * 31 + word(at);
      at = word(at) % 64 * 8;
    }
  } else if (IS("overwritten")) {
    *(volatile uint64_t*)(pool + 64) = 5;
    memset(pool + 128, 7, 64);
    sum = word(64) + word(72) + word(128) + word(184);
    pwrite(file, "01234567", 8, 256);
    sum += word(256) + word(264);
  } else if (IS("functions")) {
    memcpy(copy, pool + 3, 70);
    sum = strlen((char*)pool + 100) + (memcmp(pool + 200, pool + 240, 16) == 0) +
          (strcmp((char*)pool + 300, "abc") == 0) + (memchr(pool + 330, 0x5a, 20) != NULL);
    memmove(pool + 400, pool + 402, 20);
  } else if (IS("atomics")) {
    sum = __atomic_fetch_add((uint64_t*)(pool + 8), 1, __ATOMIC_SEQ_CST);
    uint64_t expected = 3;
    sum += __atomic_compare_exchange_n((uint64_t*)(pool + 80), &expected, 4, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    sum += expected + word(8);
  } else if (IS("vectors")) {
    uint32_t total = 0;
    for (size_t i = 0; i < 64; ++i) total += ((const uint32_t*)(pool + 128))[i];
    sum = total;
  } else if (IS("printed")) { /* by the C library */
    printf("%.20s|%s\n", (const char*)pool + 60, (const char*)pool + 120);
  } else if (IS("unbuffered")) { /* handed to the kernel by the C library */
    setvbuf(stdout, NULL, _IONBF, 0);
    fwrite_unlocked(pool + 40, 1, 100, stdout);
  } else if (IS("sorted")) {
    qsort(pool + 64, 16, 4, by_first_byte);
    memcpy(copy, pool + 64, 64);
  } else if (IS("assembly")) {
    copy_by_assembly(copy, pool + 33, 100);
    sum = load_by_assembly(pool + 300);
  } else if (IS("assembly-within")) { /* both operands on one page */
    copy_by_assembly(pool + 256, pool + 33, 100);
    sum = word(300);
  } else if (IS("instructions")) {
    sum = by_instructions();
  } else if (IS("far-bit")) { /* 25 bytes behind the operand */
    INSTRUCTION("bt %%rcx, (%[m])\n\tmov $200, %[c]\n\tbt %[c], (%[m])", 160);
  } else if (IS("again")) { /* so often that it has not faulted each time */
    for (int i = 0; i < 3000; ++i) sum = sum * 31 + word(8 * (size_t)(i % 20)) + word(4096 + 8 * (size_t)(i % 512));
  } else if (IS("too-often")) {
    for (int i = 0; i < 1 << 16; ++i) sum += *(volatile uint64_t*)(pool + 4096 * (size_t)(i % 127) + word(0) % 8 * 8);
  } else if (IS("gathered")) { /* eight words of one page by one instruction */
    sum = gathered(pool);
  } else if (IS("compared")) { /* two operands on one page, alike at first */
    sum = same_by_assembly(pool + 41, pool + 321, 64);
  } else if (IS("flushed")) { /* a flush is no read */
    *(volatile uint64_t*)(pool + 64) = 5;
    __builtin_ia32_clflush(pool + 64);
    __builtin_ia32_sfence();
    sum = word(72);
  } else if (IS("written")) { /* handed to the kernel */
    const struct iovec parts[2] = {{pool + 10, 10}, {pool + 100, 20}};
    if (write(STDOUT_FILENO, pool + 300, 50) != 50 || writev(STDOUT_FILENO, parts, 2) != 30) return 92;
    if (pwrite(file, pool + 400, 30, 450) != 30) return 93;
    sum = word(456);
  } else if (IS("read-into")) {
    if (pread(file, pool + 64, 64, 256) != 64) return 92;
    sum = word(64) + word(120);
  } else if (IS("mapped-twice")) {
    const unsigned char* other = map(PROT_READ, MAP_SHARED, 0, 4096);
    *(volatile uint64_t*)(pool + 64) = 5;
    sum = *(volatile const uint64_t*)(other + 64) + *(volatile const uint64_t*)(other + 8);
    munmap((void*)other, 4096);
    if (mprotect(pool, 4096, PROT_READ) != 0) return 92;
    sum += word(16);
  } else if (IS("locked")) { /* a lock in the pool, by the C library */
    pthread_mutex_t* const lock = (pthread_mutex_t*)(pool + 64);
    pthread_mutex_init(lock, NULL);
    pthread_mutex_lock(lock);
    sum = word(256);
    pthread_mutex_unlock(lock);
  } else if (IS("dies")) {
    sum = word(8);
    if (sum != 0) *(volatile int*)8 = 1;
  } else if (IS("read-only")) {
    pool = map(PROT_READ, MAP_SHARED, 0, 4096);
    *(volatile uint64_t*)(pool + 8) = 1;
  } else if (IS("forks")) {
    sum = by_child();
  } else if (IS("orphan")) {
    if (fork() == 0) {
      for (;;) pause();
    }
    sum = word(64);
  } else if (IS("two-threads")) {
    sum = by_threads(2);
  } else if (IS("four-threads")) {
    sum = by_threads(4);
  } else if (IS("sleeping-thread")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleeps, &sum) != 0) return 92;
    struct share share = {0, 0};
    for (int i = 0; i < 5; ++i) in_turns(&share);
    pthread_join(thread, NULL);
    sum = sum * 31 + share.sum;
  } else if (IS("overwriting-thread")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, overwrites, (void*)(uintptr_t)word(64)) != 0) return 92;
    pthread_join(thread, NULL);
    sum = word(256);
  } else if (IS("thread")) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, &sum) != 0) return 92;
    pthread_join(thread, NULL);
  } else if (IS("starts")) {
    sum = (uint64_t)system("true");
  } else if (IS("handles")) {
    signal(SIGSEGV, SIG_IGN);
  } else if (IS("memory-file")) {
    const int memory = chdir("/proc/self") != 0 ? -1 : open("mem", O_RDONLY);
    if (pread(memory, copy, 8, (off_t)(uintptr_t)pool) != 8) return 92;
  } else if (IS("spliced")) {
    int ends[2];
    const struct iovec part = {pool, 64};
    if (pipe(ends) != 0 || vmsplice(ends[1], &part, 1, 0) != 64 || read(ends[0], copy, 64) != 64) return 92;
  } else if (IS("collapsed")) { /* which not every file system can */
    sum = (uint64_t)fallocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, 4096);
  } else if (IS("path")) {
    sum = (uint64_t)access((const char*)pool + 8, F_OK);
  } else if (IS("fixed")) {
    pool = mmap((void*)0x600000000000, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (pool == MAP_FAILED) return 92;
    sum = word(8);
  } else {
    return 98;
  }
  for (size_t i = 0; i < sizeof copy; ++i) sum = sum * 31 + copy[i];
  printf("%lx\n", (unsigned long)sum);
  return 0;
}
