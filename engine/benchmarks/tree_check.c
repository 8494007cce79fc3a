/* A small recovery on a folder: powercut-bench-tree-check FOLDER. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char bytes[4096];
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  for (int i = 0; i < 2; ++i) {
    const int file = open(i == 0 ? "a" : "b", O_RDONLY);
    if (file < 0 || read(file, bytes, sizeof bytes) != sizeof bytes) return 1;
    close(file);
  }
  const int file = open("new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, bytes, 100) != 100 || fsync(file) != 0) return 1;
  return rename("new", "c") == 0 ? 0 : 1;
}
