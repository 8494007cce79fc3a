/* Does to a pool what a script says: `steps POOL SCRIPT`, where a step is a letter with its operands between colons,
 * and steps are separated by commas. Each step has its own copy of the code, so that findings tell one from another. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSteps = 48, kData = 32 };

struct step {
  char what;
  uint64_t at, size;
  unsigned char data[kData] __attribute__((aligned(16)));
};

static char* pool;
static struct step steps[kSteps];

static void parse(char* text) {
  char* rest = NULL;
  struct step* step = steps;
  for (char* word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest), ++step) {
    if (step == steps + kSteps) exit(9);
    char* end = NULL;
    step->what = word[0];
    step->at = strtoul(word + 2, &end, 10);
    for (const char* hex = end + 1; *end == ':' && hex[0] != '\0'; hex += 2) {
      const char digits[] = {hex[0], hex[1], '\0'};
      step->data[step->size++] = (unsigned char)strtoul(digits, NULL, 16);
    }
  }
}

#define VALUE(type) (*(const type*)step->data)
#define STORE(type) *(volatile type*)to = VALUE(type)
typedef __m128i vector __attribute__((aligned(1)));

static inline __attribute__((always_inline)) void perform(const struct step* step) {
  char* const to = pool + step->at;
  switch (step->what) {
    case 'S':
      if (step->size == 1) STORE(uint8_t);
      if (step->size == 2) STORE(uint16_t);
      if (step->size == 4) STORE(uint32_t);
      if (step->size == 8) STORE(uint64_t);
      if (step->size == 16) STORE(vector);
      break;
    case 'M':
      memcpy(to, step->data, step->size);
      break;
    case 'N':
      if (step->size == 4) _mm_stream_si32((int*)to, VALUE(int));
      if (step->size == 8) _mm_stream_si64((long long*)to, VALUE(long long));
      if (step->size == 16) _mm_stream_si128((__m128i*)to, VALUE(__m128i));
      break;
    case 'X':
      __atomic_exchange_n((uint64_t*)to, VALUE(uint64_t), __ATOMIC_SEQ_CST);
      break;
    case 'w':
      __asm__ volatile("clwb %0" ::"m"(*to) : "memory");
      break;
    case 'o':
      __asm__ volatile("clflushopt %0" ::"m"(*to) : "memory");
      break;
    case 'f':
      __asm__ volatile("clflush %0" ::"m"(*to) : "memory");
      break;
    case 's':
      __asm__ volatile("sfence" ::: "memory");
      break;
    case 'm':
      __asm__ volatile("mfence" ::: "memory");
      break;
    case 'B':
      powercut_mark_begin(POWERCUT_MARK_UPDATE, NULL, 0, NULL, 0);
      break;
    case 'E':
      powercut_mark_end(0, NULL, 0);
      break;
    default:
      break;
  }
}

#define STEPS_4(n) perform(steps + n), perform(steps + n + 1), perform(steps + n + 2), perform(steps + n + 3)
#define STEPS_16(n) STEPS_4(n), STEPS_4(n + 4), STEPS_4(n + 8), STEPS_4(n + 12)

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  parse(argv[2]);
  const int file = open(argv[1], O_RDWR);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 2;
  pool = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  STEPS_16(0), STEPS_16(16), STEPS_16(32);
  return 0;
}
