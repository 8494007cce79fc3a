/* A recovery, check, dump or probe that does what a script says: `judge POOL SCRIPT`, where an instruction is a letter
 * with numbers between colons, and instructions are separated by commas. It reads the pool in as many ways as code
 * does: by loads of each size, vectors, library calls, string instructions, operands in memory, and system calls. */
#include <emmintrin.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "operands.h"

enum { kRegisters = 4, kFields = 4, kBuffer = 4096 };

static char* pool;
static int file;
static uint64_t registers[kRegisters];
static char out[kBuffer];
static size_t printed;

static void flush_out(void) {
  if (write(1, out, printed) != (ssize_t)printed) _exit(98);
  printed = 0;
}

static void print(uint64_t value) {
  char digits[24];
  size_t count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  if (printed + count + 1 > sizeof out) flush_out();
  while (count > 0) out[printed++] = digits[--count];
  out[printed++] = '\n';
}

static uint64_t load(uint64_t size, uint64_t at) {
  if (size == 1) return *(const volatile uint8_t*)(pool + at);
  if (size == 2) return *(const volatile uint16_t*)(pool + at);
  if (size == 4) return *(const volatile uint32_t*)(pool + at);
  return *(const volatile uint64_t*)(pool + at);
}

static void store(uint64_t size, uint64_t at, uint64_t value) {
  if (size == 1) *(volatile uint8_t*)(pool + at) = (uint8_t)value;
  if (size == 2) *(volatile uint16_t*)(pool + at) = (uint16_t)value;
  if (size == 4) *(volatile uint32_t*)(pool + at) = (uint32_t)value;
  if (size == 8) *(volatile uint64_t*)(pool + at) = value;
}

static uint64_t vector(uint64_t at) {
  const __m128i both = _mm_loadu_si128((const __m128i*)(pool + at));
  return (uint64_t)_mm_cvtsi128_si64(both) + (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both));
}

static uint64_t sum(const unsigned char* bytes, uint64_t count) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) total += bytes[i] * (i + 1);
  return total;
}

static uint64_t copied(char how, uint64_t at, uint64_t count) {
  unsigned char buffer[256];
  if (how == 'Y') memcpy(buffer, pool + at, count);
  if (how == 'P' && pread(file, buffer, count, (off_t)at) != (ssize_t)count) exit(97);
  if (how == 'T') {
    void* to = buffer;
    const void* from = pool + at;
    uint64_t left = count;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(left)::"memory");
  }
  return sum(buffer, count);
}

static uint64_t equals(uint64_t at, uint64_t value) {
  unsigned char same = 0;
  __asm__ volatile("cmpq %2, %1\n\tsete %0" : "=q"(same) : "m"(*(const uint64_t*)(pool + at)), "r"(value) : "cc");
  return same;
}

static uint64_t compared(uint64_t a, uint64_t b, uint64_t count) {
  const int order = memcmp(pool + a, pool + b, count);
  return order == 0 ? 0 : order < 0 ? 1 : 2;
}

/* Words until the first one that is zero. */
static uint64_t counted(uint64_t at, uint64_t most) {
  const volatile uint64_t* word = (const volatile uint64_t*)(pool + at);
  uint64_t count = 0;
  while (count < most && word[count] != 0) ++count;
  return count;
}

static void die(uint64_t how) {
  if (how == 0) abort();
  *(volatile char*)(how * 8) = 1;
}

static int holds(uint64_t left, uint64_t how, uint64_t right) {
  return how == 0 ? left == right : how == 1 ? left != right : how == 2 ? left < right : left > right;
}

static void perform(char what, const uint64_t* field) {
  uint64_t* const into = registers + field[0] % kRegisters;
  switch (what) {
    case 'L':
      *into = load(field[1], field[2]);
      break;
    case 'A': /* the word that another register chooses */
      *into = load(8, field[2] + registers[field[1] % kRegisters] % 8 * 8);
      break;
    case 'V':
      *into = vector(field[1]);
      break;
    case 'Y':
    case 'P':
    case 'T':
      *into = copied(what, field[1], field[2]);
      break;
    case 'Z':
      *into = counted(field[1], field[2]);
      break;
    case 'H':
      *into = operated(field[1], *into, pool + field[2]);
      break;
    case 'U':
      *into = equals(field[1], field[2]);
      break;
    case 'K':
      *into = compared(field[1], field[2], field[3]);
      break;
    case 'X':
      *into = __atomic_exchange_n((uint64_t*)(pool + field[1]), field[2], __ATOMIC_SEQ_CST);
      break;
    case 'O':
      store(field[1], field[0], field[2]);
      break;
    case 'R':
      store(8, field[0], registers[field[1] % kRegisters]);
      break;
    case 'I':
      __asm__ volatile("addq %1, %0" : "+m"(*(uint64_t*)(pool + field[0])) : "r"(field[1]) : "cc");
      break;
    case 'G':
      memset(pool + field[0], (int)field[2], field[1]);
      break;
    case 'C':
      memmove(pool + field[0], pool + field[1], field[2]);
      break;
    case 'F':
      __asm__ volatile("clwb %0\n\tsfence" ::"m"(pool[field[0]]) : "memory");
      break;
    case 'Q':
      print(*into);
      break;
    case 'W':
      flush_out();
      if (write(1, pool + field[0], field[1]) != (ssize_t)field[1] || write(1, "\n", 1) != 1) exit(96);
      break;
    case 'D':
      die(field[0]);
      break;
    case 'E':
      flush_out();
      exit((int)field[0]);
    default:
      exit(95);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  file = open(argv[1], O_RDWR);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 2;
  pool = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  uint64_t skipped = 0;
  for (char* text = argv[2]; *text != '\0';) {
    const char what = *text++;
    uint64_t field[kFields] = {0};
    for (int i = 0; *text == ':' && i < kFields; ++i) field[i] = strtoul(text + 1, &text, 10);
    if (*text == ',') ++text;
    if (skipped > 0) {
      --skipped;
    } else if (what == 'J') { /* leaves out so many instructions when it holds */
      skipped = holds(registers[field[0] % kRegisters], field[1], field[2]) ? field[3] : 0;
    } else {
      perform(what, field);
    }
  }
  flush_out();
  return 0;
}
