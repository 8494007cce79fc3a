/* A library that a program loads late, and that Python loads (test_stacks.py). */
#include <unistd.h>

void library_stores(int file) {
  if (write(file, "l", 1) != 1) _exit(3); /* library */
}
