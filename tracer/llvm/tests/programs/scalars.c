// Stores of every scalar size and type, at aligned and unaligned places.
#include "pool.h"

struct bits {
  unsigned low : 5;
  unsigned high : 27;
};

void run(char* pool) {
  *AT(char, 0) = 0x11;
  *AT(short, 2) = 0x2222;
  *AT(int, 4) = 0x33333333;
  *AT(long, 8) = 0x4444444444444444;
  *AT(__int128, 16) = ((__int128)0x5555555555555555 << 64) | 0x6666666666666666;
  *AT(_Bool, 32) = 1;
  *AT(float, 36) = 1.0f;
  *AT(double, 40) = 2.0;
  *AT(long double, 48) = 3.0L;
  *AT(void*, 64) = (void*)0x1234;
  ((volatile struct bits*)(pool + 72))->high = 3;
  *AT(int, 81) = 0x77777777;    // unaligned
  *AT(long, 124) = -1;          // crosses a line
  *AT(int, 200) += 5;           // reads and writes
}
